//! What does not change while LIDs are dealt, worked out in one place.

use super::cabling::Cabling;
use super::goals::Goals;
use super::order::Order;
use super::slopes::Slopes;
use super::steps::Steps;
use crate::topology::Topology;
use crate::watch::Stretch;

/// A fabric, its order, and all shortest ways in it that climb and then descend.
///
/// Made once for a fabric and shared by all threads that deal; what they write is their own.
pub(super) struct Ground<'a> {
    pub(super) cabling: &'a Cabling,
    /// Which end of each bundle is up.
    pub(super) order: Order,
    pub(super) slopes: Slopes,
    /// By switch.
    pub(super) heights: Vec<u32>,
    pub(super) goals: Goals,
    /// To switches by turn.
    pub(super) steps: Steps,
}

impl<'a> Ground<'a> {
    pub(super) fn new(
        topology: &Topology,
        cabling: &'a Cabling,
        order: Order,
        heights: Vec<u32>,
        share: Stretch<'_>,
    ) -> Self {
        // In this order: steps need slopes and goals, and nothing else needs steps.
        let slopes = Slopes::new(cabling, &order);
        let goals = Goals::new(topology, cabling, &order);
        let steps = Steps::new(cabling, &order, &slopes, goals.switches(), share);
        Self {
            cabling,
            order,
            slopes,
            heights,
            goals,
            steps,
        }
    }
}
