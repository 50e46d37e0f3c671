# For LibreLane: the script of the step Placefield.GlobalPlacement.
source $::env(SCRIPTS_DIR)/openroad/common/io.tcl
source [file join [file dirname [info script]] placefield.tcl]

read_current_odb
set lefs [list $::env(TECH_LEF)]
foreach name {CELL_LEFS MACRO_LEFS PAD_LEFS EXTRA_LEFS} {
    if { [info exists ::env($name)] } {
        lappend lefs {*}$::env($name)
    }
}
placefield_place $lefs $::env(STEP_DIR) --until global --stop-overflow 0.1 \
    --target-density [expr { $::env(PL_TARGET_DENSITY_PCT) / 100.0 }]
source $::env(SCRIPTS_DIR)/openroad/common/set_rc.tcl
estimate_parasitics -placement
write_views
report_design_area_metrics
