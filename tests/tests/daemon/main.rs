//! `sapphired` as a process: start, reload, restart, limits, what operators ask of it and what hostile
//! clients do to it.

mod audit;
mod back_to_back;
mod events;
mod fleet;
mod groups;
mod handover;
mod handover_merge;
mod health;
mod inherited;
mod init;
mod limits;
mod local_service;
mod maintenance;
mod operate;
mod other_sm;
mod reload;
mod ring;
mod rmpp;
mod role;
mod simulator_return;
mod slurm;
mod soak;
mod start;
mod sweep;
mod sweep_killed;
mod sweep_restart;
mod top;
mod traps;
mod umad;
mod workers;
