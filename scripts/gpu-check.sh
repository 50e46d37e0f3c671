#!/usr/bin/env bash
# gpu-check.sh [--only PART[,PART…]] [--classes CLASSES] [--iterations K] FOLDER RESULTS
#
# Checks and measures the CUDA engine on a machine with an NVIDIA GPU, from the
# executables that scripts/gpu-pack put into FOLDER: conformance of the solve,
# parity with the CPU, golden values, the benchmark of density and force where there is an nvcc, compiled and
# checked on small designs, commands on arrays with either engine, the borders (a program in C
# on device memory, and where python3 or $TORCH_PYTHON has a PyTorch its tensors and CuPy's arrays, what a
# call from PyTorch costs, and OpenROAD's adapter beside the copies that it makes), NVIDIA's
# compute-sanitizer on small cases, then the benchmarks (that of several devices where
# there are two) and 100 iterations of every pipeline side by side at the
# statistics of adaptec1 and bigblue4, with their agreement checked (relative RMS
# at most 2e-6 in f32 and 1e-13 in f64; with fillers 2e-5 and 1e-13).
#
# The parts, all of which run unless --only names some: tests, commands, borders, sanitizers,
# benchmarks, comparisons.
#
# The device is as PLACEFIELD_DEVICE_LIMIT leaves it. CLASSES are limits of that form
# ("shared=99,arch=86" for 99 KB of shared memory a block and code for 8.6), separated by
# spaces: the device is checked with each of them in turn. "whole" is the device without a
# limit, "all" stands for that and for A100's class (163 KB, 8.0), RTX 30's (99 KB, 8.6)
# and T4's (64 KB, 7.5). Times are the device's own in every class, and results name it
# with its limit.
#
# RESULTS gets summary.json, which names the device, checks.log and one JSON file per
# benchmark; those of a class go into a folder of its name in RESULTS (shared-99-arch-86), those
# of the whole device into RESULTS. Ends with 1 when anything failed, and goes on with the rest before.
set -uo pipefail

usage="usage: gpu-check.sh [--only PART[,PART…]] [--classes CLASSES] [--iterations K] FOLDER RESULTS"
classes=
only=tests,commands,borders,sanitizers,benchmarks,comparisons
iterations=100
while [[ $# -gt 0 && "$1" == --* ]]; do
    case "$1" in
    --only) only="${2:?--only PART}" && shift ;;
    --classes) classes="${2:?--classes CLASSES}" && shift ;;
    --iterations) iterations="${2:?--iterations K}" && shift ;;
    *) echo "gpu-check: unknown option $1" >&2 && exit 2 ;;
    esac
    shift
done
if [[ $# -ne 2 ]]; then
    echo "$usage" >&2
    exit 2
fi
for part in ${only//,/ }; do
    case "$part" in
    tests | commands | borders | sanitizers | benchmarks | comparisons) ;;
    *)
        echo "gpu-check: no part $part: expected tests, commands, borders, sanitizers, benchmarks or comparisons" >&2
        exit 2
        ;;
    esac
done
# part NAME: whether it is to run.
part() { [[ ",$only," == *",$1,"* ]]; }
folder="$(realpath "$1")"
mkdir -p "$2" && results="$(realpath "$2")"
if [[ -n "$classes" ]]; then
    [[ "$classes" == all ]] && classes="whole shared=163,arch=80 shared=99,arch=86 shared=64,arch=75"
    failed=0
    for class in $classes; do
        into="$results/${class//[=,]/-}" limit="$class"
        [[ "$class" == whole ]] && into="$results" limit=
        echo "== $class"
        PLACEFIELD_DEVICE_LIMIT="$limit" bash "${BASH_SOURCE[0]}" --only "$only" --iterations "$iterations" \
            "$folder" "$into" || failed=1
    done
    exit "$failed"
fi
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
log="$results/checks.log"
: >"$log"
export PLACEFIELD_DATA="$folder/data" PLACEFIELD_CACHE="$scratch/kernels"
chmod u+x "$folder"/tests/* "$folder"/benchmarks/* "$folder"/borders/* "$folder/placefield" "$folder/utilisation-ncu"

# cuFFT, NVRTC and NCCL where the loader does not find them: in a toolkit's folder or Python's packages.
libraries() {
    local root
    for root in "${CUDA_HOME:-/usr/local/cuda}" /usr/local/cuda* \
        $(python3 -c 'import nvidia; print(*nvidia.__path__)' 2>/dev/null); do
        [[ -d "$root" ]] && find -L "$root" -maxdepth 4 -name "$1*" -printf '%h\n' -quit 2>/dev/null
    done | head -1
}
for library in "cuFFT libcufft.so.1" "NVRTC libnvrtc.so.1" "NCCL libnccl.so.2"; do
    "$folder/placefield" info | grep -q "^  ${library% *} *not found" || continue
    found="$(libraries "${library#* }")"
    [[ -n "$found" ]] && LD_LIBRARY_PATH="$found${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
done
export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:-}"
# Ranks send messages from one to another: NCCL needs no NVLink multicast for that.
export NCCL_NVLS_ENABLE="${NCCL_NVLS_ENABLE:-0}"

entries=()
failed=0
# check NAME COMMAND…: runs it, its output to the log, its end to the terminal.
check() {
    local name="$1" start status verdict
    shift
    start="$(date +%s.%N)"
    echo "== $name: $*" >>"$log"
    "$@" >"$scratch/output" 2>&1
    status=$?
    cat "$scratch/output" >>"$log"
    verdict=passed
    if [[ $status -ne 0 ]]; then
        verdict=failed
        failed=1
        tail -n 25 "$scratch/output" | cut -c1-300
    fi
    local seconds
    seconds="$(awk -v a="$start" -v b="$(date +%s.%N)" 'BEGIN { printf "%.1f", b - a }')"
    echo "$verdict  $name  ($seconds s)"
    entries+=("{\"name\": \"$name\", \"result\": \"$verdict\", \"seconds\": $seconds}")
}

# single NAME TEST [COMMAND…]: one test of a device in a process of its own, under COMMAND, so that
# what it breaks does not take others with it; it must have run. Its output and exit status go to
# tests/NAME.log and .status in the scratch folder, a line of it to the log when it ends.
single() {
    local name="$1" file="$scratch/tests/$1" test="$2" begun=$SECONDS status
    shift 2
    timeout 500 "$@" "$folder/tests/cuda" --exact "$test" >"$file.log" 2>&1 &&
        grep -q '1 passed' "$file.log"
    status=$?
    echo $status >"$file.status"
    echo "$name: exit status $status after $((SECONDS - begun)) s" >>"$log"
}
# singles N: one for every line of arguments from standard input, N of them at a time. (Tests that
# need the device for themselves wait until they have it.)
singles() { xargs -P "$1" -L 1 bash -c 'single "$@"' single; }
# passed NAME…: whether all of these did; what failed comes last.
passed() {
    local name bad=()
    for name; do
        if [[ "$(cat "$scratch/tests/$name.status")" == 0 ]]; then
            cat "$scratch/tests/$name.log"
        else
            bad+=("$name")
        fi
    done
    for name in "${bad[@]}"; do cat "$scratch/tests/$name.log"; done
    [[ ${#bad[@]} -eq 0 ]]
}
export folder scratch log
export -f single
mkdir "$scratch/tests"
# run_tests TEST…: under their own names, as many at a time as there are cores: most of their time
# is the compiler's.
run_tests() { printf '%s\n' "$@" | sed 's/.*/& &/' | singles "$(nproc)"; }

# Fails where no device can be used.
info() {
    "$folder/placefield" info | tee "$scratch/info"
    ! grep -q '^cuda  not available' "$scratch/info"
}
check info info
cat "$scratch/output"
device="$(sed -n 's/^  device 0  \(.*\), compute capability [0-9.]*, [0-9]* MiB.*/\1/p' "$scratch/info")"
# density_force TYPE: compiles the benchmark of density and force, and checks its results.
density_force() {
    local toolkit="${nvcc%/bin/nvcc}" at="$folder/density_force"
    "$nvcc" -O3 -std=c++17 -arch=native -DPF_REAL="$1" -I "$at/kernels" -I "$toolkit/include" -L "$toolkit/lib" \
        -o "$scratch/density-force-$1" "$at/density_force.cu" && "$scratch/density-force-$1" check small
}
if part tests; then
    # The cases of the sanitizers are in a test that runs them all. In this order the long ones come first.
    tests="$("$folder/tests/cuda" --list | sed -n '/^sanitizer::case_/!s/: test$//p' | sort -r)"
    check tests run_tests $tests
    for suite in $(sed 's/::.*//' <<<"$tests" | sort -u); do
        check "cuda-$suite" passed $(grep "^$suite::" <<<"$tests")
    done
    check allocation "$folder/tests/allocation" on_a_device --include-ignored --test-threads=1
    nvcc="$(command -v nvcc || libraries nvcc | sed 's|$|/nvcc|')"
    if [[ -n "$nvcc" ]]; then
        check density-force-f32 density_force float
        check density-force-f64 density_force double
    else
        echo "not run: the benchmark of density and force; there is no nvcc"
    fi
fi

# The numbers of a NumPy file of f32 or f64, one a line; its header is 128 bytes.
numbers() { tail -c +129 "$1" | od -An -v -t "f$((${2#f} / 8))" -w"$((${2#f} / 8))"; }
# agree PRECISION ONE OTHER: relative RMS difference of two NumPy files within the precision's bound.
agree() {
    local most=2e-6
    [[ $1 == f64 ]] && most=1e-13
    paste <(numbers "$2" "$1") <(numbers "$3" "$1") | awk -v most="$most" -v what="${3##*/}" '
        { difference += ($1 - $2)^2; size += $2^2 }
        END {
            off = size > 0 ? sqrt(difference / size) : 1
            printf "%s: %d numbers, %.2g off\n", what, NR, off
            exit !(NR > 0 && off <= most)
        }'
}
# Commands on arrays give on the device what they give on the CPU.
solve_both() {
    local at="$scratch/arrays/$1" map engine
    for engine in cpu cuda; do
        "$folder/placefield" solve "$at/density.npy" --engine $engine --bin-size 2x3 --out "$at/$engine" || return 1
    done
    for map in potential field_x field_y; do agree "$1" "$at/cpu/$map.npy" "$at/cuda/$map.npy" || return 1; done
}
transform_both() {
    local at="$scratch/arrays/$1" engine
    mkdir -p "$at/cpu" "$at/cuda"
    for engine in cpu cuda; do
        "$folder/placefield" dct "$at/density.npy" --engine $engine "${@:2}" --out "$at/$engine/${*:2}.npy" || return 1
    done
    agree "$1" "$at/cpu/${*:2}.npy" "$at/cuda/${*:2}.npy"
}
if part commands; then
    check generate-arrays "$folder/placefield" generate --cells 20000 --out "$scratch/arrays"
    for precision in f32 f64; do
        check "place-$precision" "$folder/placefield" place "$scratch/arrays/cells20000.aux" --engine cuda \
            --precision "$precision" --output "$scratch/arrays/$precision.pl"
        check "eval-$precision" "$folder/placefield" eval "$scratch/arrays/cells20000.aux" --engine cpu --bins 192x100 \
            --precision "$precision" --maps "$scratch/arrays/$precision"
        check "solve-$precision" solve_both "$precision"
        for kind in dct idct idxst idct-idxst idxst-idct; do
            check "$kind-$precision" transform_both "$precision" --kind "$kind"
        done
        for axis in 0 -1; do
            check "dct-axis$axis-$precision" transform_both "$precision" --axes="$axis"
        done
    done
fi

if part borders; then
    check c-device "$folder/borders/device"
    check openroad "$folder/borders/openroad" "$results/openroad.json"
    cat "$scratch/output"
    python="${TORCH_PYTHON:-python3}"
    if "$python" -c 'import torch, numpy, pytest' 2>"$scratch/output"; then
        export PYTHONPATH="$folder/python"
        check torch-tests "$python" -m pytest -q -p no:cacheprovider \
            "$folder/python/tests/test_torch.py" "$folder/python/tests/test_cuda.py"
        tail -n 3 "$scratch/output"
        check torch-overhead "$python" "$folder/torch-overhead" --json "$results/torch-overhead.json"
        cat "$scratch/output"
    else
        echo "not run: the tests of PyTorch's tensors: $(tail -n 1 "$scratch/output")"
    fi
fi

if part sanitizers; then
    tool="$(command -v compute-sanitizer || ls /usr/local/cuda*/bin/compute-sanitizer 2>/dev/null | head -1)"
    cases="$("$folder/tests/cuda" sanitizer::case_ ::sanitize_ --list | sed -n 's/: test$//p')"
    if [[ -z "$tool" || -z "$cases" ]]; then
        check sanitizer sh -c 'echo "there is no compute-sanitizer, or no case for it"; exit 1'
    else
        # Without a sanitizer first, which also compiles what they need.
        part tests || { check cases run_tests $cases && check cuda-cases passed $cases; }
        # The longest first, as many at a time as there are cores: most of what a case takes is the host's. Then those
        # of several ranks, alone: ranks wait for each other, but only for some seconds.
        jobs="$(for kind in racecheck initcheck memcheck synccheck; do printf "$kind-%s\n" $cases; done)"
        # Errors of the driver are the program's to handle: it asks for a kernel's parameters until there are no more.
        sanitize() {
            sed "s|\([a-z]*\)-\(.*\)|& \2 $tool --tool \1 --report-api-errors no --error-exitcode 1|" | singles "$1"
        }
        grep -v _peers_ <<<"$jobs" | sanitize "$(nproc)"
        grep _peers_ <<<"$jobs" | sanitize 1
        for job in $jobs; do
            check "sanitizer-${job//::/-}" passed "$job"
        done
    fi
fi

if part benchmarks; then
    check bench-cuda-solve "$folder/benchmarks/cuda_solve" "$results/cuda-solve.json"
    check bench-cuda-transforms "$folder/benchmarks/cuda_transforms" "$results/cuda-transforms.json"
    check bench-step "$folder/benchmarks/step" "$results/cuda-step.json"
    check bench-place "$folder/benchmarks/place" "$results/cuda-place.json"
    if grep -q '^  device 1 ' "$scratch/info"; then
        check bench-cuda-slabs "$folder/benchmarks/cuda_slabs" "$results/cuda-slabs.json"
        check bench-cuda-peers "$folder/benchmarks/cuda_peers" "$results/cuda-peers.json"
    else
        echo "not run: cuda_slabs and cuda_peers, of several devices; the machine has one"
    fi
    check paper-tables "$folder/placefield" bench all --engine cuda --json "$results/paper-cuda.json"
    check paper-profiler "$folder/utilisation-ncu" "$folder/placefield" --json "$results/paper-profiler.json"
fi

# Without fillers φ keeps its size and every map must agree. With them ρ goes flat
# but for what bins and cells differ by: the energy falls a millionfold, φ is what
# is left of a sum that cancels, and in f32 its agreement is looser by then.
for design in $(part comparisons && echo adaptec1 bigblue4); do
    check "generate-$design" "$folder/placefield" generate "$design" --out "$scratch/$design"
    for precision in f32 f64; do
        tolerance=2e-6 flat=2e-5
        [[ $precision == f64 ]] && tolerance=1e-13 flat=1e-13
        check "compare-$design-$precision" "$folder/placefield" compare "$scratch/$design/$design.aux" \
            --engine cuda --precision "$precision" --iterations "$iterations" \
            --tolerance "$tolerance" --json "$results/compare-$design-$precision.json"
        tail -n 6 "$scratch/output"
        check "compare-$design-$precision-fillers" "$folder/placefield" compare "$scratch/$design/$design.aux" \
            --engine cuda --fillers --precision "$precision" --iterations "$iterations" \
            --tolerance "$flat" --json "$results/compare-$design-$precision-fillers.json"
        tail -n 6 "$scratch/output"
    done
done

{
    echo "{\"device\": \"$device\", \"checks\": ["
    (IFS=$'\n'; echo "${entries[*]}" | sed '$!s/$/,/')
    echo "]}"
} >"$results/summary.json"
exit "$failed"
