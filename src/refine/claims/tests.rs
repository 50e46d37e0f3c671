use super::*;

#[test]
fn the_first_one_holds_its_claims() {
    let uses = |resource| Claim { resource, changes: false };
    let changes = |resource| Claim { resource, changes: true };
    let proposals =
        [vec![uses(0), changes(1)], vec![uses(0), changes(2)], vec![changes(0)], vec![uses(2)]];
    let mut claims = Claims::new(3);
    for round in [[0, 1, 2, 3], [3, 2, 1, 0]] {
        claims.begin();
        let mut numbers = [5, 6, 7, 8];
        numbers.sort_unstable_by_key(|number| place(*number));
        let number = |k: usize| numbers[round[k]];
        (0..4).for_each(|k| claims.stake(number(k), &proposals[k]));
        let hold: Vec<bool> = (0..4).map(|k| claims.hold(number(k), &proposals[k])).collect();
        match round[0] {
            0 => assert_eq!(hold, [true, true, false, false]),
            _ => assert_eq!(hold, [false, false, true, true]),
        }
    }
}
