# For OpenROAD-flow-scripts: POST_GLOBAL_PLACE_TCL names this file. The density is the flow's own.
source [file join [file dirname [info script]] placefield.tcl]

set placefield_lefs [list $::env(TECH_LEF) {*}$::env(SC_LEF) {*}[env_var_or_empty ADDITIONAL_LEFS]]
placefield_place $placefield_lefs $::env(RESULTS_DIR) --until global --stop-overflow 0.1 \
  --target-density [place_density_with_lb_addon] {*}[env_var_or_empty PLACEFIELD_ARGS]
estimate_parasitics -placement
