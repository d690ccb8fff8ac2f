#!/usr/bin/env bash
# Stands before saquery: the simulator takes the HCA's place.
export SIM_HOST=H1_1_1_0 LD_PRELOAD
LD_PRELOAD=$(compgen -G '/usr/lib/*/umad2sim/libumad2sim.so')
exec /usr/sbin/saquery "$@"
