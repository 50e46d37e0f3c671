# Places the design that OpenROAD holds: it goes out as a DEF file, and the places of its movable
# cells come back in. All else in the database stays as it is.
#   placefield_place LEFS FOLDER OPTION…
# LEFS are the LEF files, the one with the technology first; FOLDER takes the DEF files and the
# numbers of the run, placefield.json; the options are those of `placefield place`.
proc placefield_place { lefs folder args } {
  write_def $folder/placefield_in.def
  set command [list placefield place $folder/placefield_in.def -o $folder/placefield_out.def \
    --json $folder/placefield.json]
  foreach lef $lefs {
    lappend command --lef $lef
  }
  lappend command {*}$args
  puts $command
  flush stdout
  exec {*}$command >@ stdout 2>@ stderr

  # Of the DEF file only the places of components are read again.
  set placed [open $folder/placefield_out.def]
  set header {}
  set components {}
  while { [gets $placed line] >= 0 && ![string match "END COMPONENTS*" $line] } {
    if { [regexp {^(VERSION|DIVIDERCHAR|BUSBITCHARS|DESIGN|UNITS) } $line] } {
      lappend header $line
    } elseif { [regexp {^ *(- \S+ \S+) .*(\+ PLACED \( \S+ \S+ \) \w+)} $line -> component place] } {
      lappend components "$component $place ;"
    }
  }
  close $placed
  set places [open $folder/placefield_places.def w]
  puts $places [join $header "\n"]
  puts $places "COMPONENTS [llength $components] ;"
  puts $places [join $components "\n"]
  puts $places "END COMPONENTS\nEND DESIGN"
  close $places
  read_def -incremental $folder/placefield_places.def
}
