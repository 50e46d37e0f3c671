use super::*;

#[test]
fn engine_names() {
    assert_eq!("auto".parse(), Ok(EngineChoice::Auto));
    assert_eq!("cpu".parse(), Ok(EngineChoice::Cpu));
    assert_eq!("cuda:3".parse(), Ok(EngineChoice::Cuda(3)));
    assert_eq!("cuda".parse(), Ok(EngineChoice::Cuda(0)));
    for (text, ordinals) in
        [("cuda:all", vec![0, 1, 2]), ("cuda:2,0", vec![2, 0]), ("cuda:1,4", vec![1, 4])]
    {
        let Ok(EngineChoice::Several(devices)) = text.parse() else { panic!("{text}") };
        assert_eq!((devices.ordinals(3), devices.first()), (ordinals.clone(), ordinals[0]));
    }
    let many = (0..17).map(|k| k.to_string()).collect::<Vec<_>>().join(",");
    let many = format!("cuda:{many}");
    let wrong = ["gpu", "cuda:", "cuda:-1", "cpu:0", "auto:1", ":0", "", "cpu:all", "both"];
    for wrong in wrong.into_iter().chain(["cuda:0,", "cuda:1,1", "cuda:a,b", "cuda:0,300", &many]) {
        assert!(wrong.parse::<EngineChoice>().is_err(), "{wrong:?}");
    }
}
