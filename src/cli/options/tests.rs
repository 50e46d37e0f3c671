use super::*;

#[test]
fn sizes_have_units() {
    for (text, bytes) in [("1", 1), ("500M", 500_000_000), ("1.5g", 1_500_000_000)] {
        assert_eq!(size(text), Ok(bytes));
    }
    for wrong in ["", "G", "0", "-1", "4X", "1e30", "nan", "inf", "4GB", "1é"] {
        assert!(size(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn engine_names() {
    assert_eq!("auto".parse(), Ok(EngineChoice::Auto));
    assert_eq!("cpu".parse(), Ok(EngineChoice::Cpu));
    assert_eq!("cuda:3".parse(), Ok(EngineChoice::Cuda(3)));
    assert_eq!("cuda".parse(), Ok(EngineChoice::Cuda(0)));
    assert_eq!("both:1".parse(), Ok(EngineChoice::Both(1)));
    for (text, ordinals) in
        [("cuda:all", vec![0, 1, 2]), ("cuda:2,0", vec![2, 0]), ("cuda:1,4", vec![1, 4])]
    {
        let Ok(EngineChoice::Several(devices)) = text.parse() else { panic!("{text}") };
        assert_eq!((devices.ordinals(3), devices.first()), (ordinals.clone(), ordinals[0]));
    }
    let many = (0..17).map(|k| k.to_string()).collect::<Vec<_>>().join(",");
    let many = format!("cuda:{many}");
    let wrong = ["gpu", "cuda:", "cuda:-1", "cpu:0", "auto:1", ":0", "", "cpu:all", "both:0,1"];
    for wrong in wrong.into_iter().chain(["cuda:0,", "cuda:1,1", "cuda:a,b", "cuda:0,300", &many]) {
        assert!(wrong.parse::<EngineChoice>().is_err(), "{wrong:?}");
    }
}
