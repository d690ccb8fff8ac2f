//! What a configuration names for the compiler.

use sa_compiler::pipeline::Inputs;
use sa_fabric::intake::Intake;
use sa_wire::Lmc;

use super::Config;

impl Config {
    /// What a compilation reads, but for the fabric of a running SA.
    pub fn inputs(&self) -> Inputs {
        let (fabric, routing) = (&self.fabric, &self.routing);
        Inputs {
            intake: Intake::new(self.limits),
            fabric: fabric.path.clone(),
            live: None,
            lids: fabric.lids.clone(),
            lmc: fabric.lmc.and_then(|lmc| Lmc::new(lmc).ok()),
            sm_node: fabric.sm_node.clone(),
            torus_conf: routing.torus_conf.clone(),
            policy: self.policy.file.clone(),
            dialect: self.policy.dialect,
            reading: self.policy.reading(),
            ulp_names: self.policy.ulp_names.clone(),
            apply_setup: self.policy.apply_setup,
            on_policy_error: self.policy.on_error,
            partitions: self.partitions.file.clone(),
            opensm_conf: fabric.opensm_conf.clone(),
            prefix_routes: fabric.prefix_routes.clone(),
            aliases: fabric.aliases.clone(),
            qos: fabric.qos,
            is_q_given: false,
            engine: routing.engine.unwrap_or_default(),
            mtu: None,
            vl_cap: None,
            failed: Vec::new(),
            allow_lost_pairs: routing.allow_lost_pairs,
        }
    }
}
