use super::*;

#[test]
fn parallel_results_come_in_order() {
    let times: Vec<AtomicUsize> = (0..100).map(AtomicUsize::new).collect();
    let before = at_once(&times, |number| number.fetch_add(1000, Relaxed));
    assert_eq!(before, (0..100).collect::<Vec<_>>());
    assert!(times.iter().enumerate().all(|(k, n)| n.load(Relaxed) == 1000 + k));
    assert!(at_once(&[] as &[u8], |_| ()).is_empty());
}

#[test]
fn the_order_of_macros_does_not_matter() {
    let of = |defines: &[(&'static str, &str)]| {
        let defines: Vec<_> = defines.iter().map(|&(k, v)| (k, v.to_owned())).collect();
        Instance::new::<f32>("spectral", &defines).unwrap()
    };
    let one = of(&[("B", "2"), ("A", "1")]);
    assert_eq!(one, of(&[("A", "1"), ("B", "2")]));
    assert_eq!(one.defined(), "A=1 B=2");
    assert_eq!(one.options(), ["--define-macro=A=1", "--define-macro=B=2"]);
    assert_ne!(one, of(&[("A", "1"), ("B", "3")]));
    assert_ne!(one, Instance { precision: Precision::F64, ..one.clone() });
    assert!(matches!(Instance::new::<f32>("none", &[]), Err(CudaError::NoSuchUnit(_))));
}

#[test]
fn devices_load_the_best_matching_code() {
    let all = [75, 80, 86, 89, 90, 100, 120].map(Target::Cubin);
    let all = all.into_iter().chain([75, 90].map(Target::Ptx));
    let best = |device, last| {
        let found = Architectures { device, last }.best(all.clone().map(|t| (t, ())));
        found.into_iter().map(|(target, ())| target.to_string()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(best(75, 75), "sm_75 compute_75");
    assert_eq!(best(80, 80), "sm_80 compute_75");
    assert_eq!(best(87, 87), "sm_86 sm_80 compute_75");
    assert_eq!(best(89, 89), "sm_89 sm_86 sm_80 compute_75");
    assert_eq!(best(90, 90), "sm_90 compute_90 compute_75");
    assert_eq!(best(103, 103), "sm_100 compute_90 compute_75");
    assert_eq!(best(110, 110), "compute_90 compute_75");
    assert_eq!(best(121, 121), "sm_120 compute_90 compute_75");
    // With a limit.
    assert_eq!(best(90, 86), "compute_75");
    assert_eq!(best(89, 86), "sm_86 sm_80 compute_75");
    assert_eq!(best(100, 90), "compute_90 compute_75");
}

#[test]
fn targets_are_those_the_compiler_knows() {
    let targets = |(device, last), code, known: &[u32]| {
        let found = Architectures { device, last }.targets(code, known);
        found.iter().map(Target::to_string).collect::<Vec<_>>().join(" ")
    };
    let known = [75, 80, 86, 87, 89, 90, 100, 120];
    assert_eq!(targets((90, 90), Code::Quickest, &known), "sm_90 compute_90");
    assert_eq!(targets((90, 90), Code::Ptx, &known), "compute_90");
    assert_eq!(targets((90, 80), Code::Quickest, &known), "compute_80");
    assert_eq!(targets((89, 86), Code::Compiled, &known), "sm_86 compute_86");
    // A compiler that is older than the device, and one that does not list its architectures.
    assert_eq!(targets((120, 120), Code::Quickest, &known[..6]), "compute_90");
    assert_eq!(targets((90, 90), Code::Quickest, &[]), "sm_90 compute_90");
}

#[test]
fn too_old_a_driver_is_named_with_the_needed_one() {
    let refused = |error, compiler, driver| refusal(DriverError(error), compiler, driver);
    let version = CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
    let old = refused(version, Some((13, 0)), Some((12, 8))).to_string();
    assert!(old.contains("12.8") && old.contains("13.0"), "{old}");
    let same = refused(version, Some((13, 0)), Some((13, 0)));
    assert!(matches!(same, CudaError::Driver(_)), "{same}");
    let other = refused(CUresult::CUDA_ERROR_LAUNCH_FAILED, Some((13, 0)), Some((12, 8)));
    assert!(matches!(other, CudaError::Driver(_)), "{other}");
}

/// A key without one of these would return another instance's code.
#[test]
fn cache_key_covers_all_compiler_inputs() {
    let base = Instance::new::<f32>("spectral", &[("A", "1".into())]).unwrap();
    let name = |i: &Instance, target, nvrtc| i.entry(target, nvrtc).name().to_owned();
    let mut names = vec![
        name(&base, Target::Cubin(90), (13, 0)),
        name(&base, Target::Cubin(86), (13, 0)),
        name(&base, Target::Ptx(90), (13, 0)),
        name(&base, Target::Cubin(90), (12, 9)),
        name(
            &Instance::new::<f64>("spectral", &[("A", "1".into())]).unwrap(),
            Target::Cubin(90),
            (13, 0),
        ),
        name(
            &Instance::new::<f32>("order", &[("A", "1".into())]).unwrap(),
            Target::Cubin(90),
            (13, 0),
        ),
        name(
            &Instance::new::<f32>("spectral", &[("A", "2".into())]).unwrap(),
            Target::Cubin(90),
            (13, 0),
        ),
    ];
    assert_eq!(names[0], name(&base.clone(), Target::Cubin(90), (13, 0)));
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 7);
}
