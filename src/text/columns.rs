//! Columns of a table that grow by the parts of a file, and their largest length.

use crate::design::{Names, NamesTooLong, Nets};
use crate::parallel::{self, each_mut};
use num_traits::Zero;

/// Bytes from which on a column asks for large pages.
const LARGE: usize = 1 << 20;

/// A column that grows by what chunks read, copied there by all threads: to touch its memory for
/// the first time takes about as long as to parse its text.
pub(crate) struct Column<T> {
    /// The values, and zeros behind them.
    values: Vec<T>,
    len: usize,
}

impl<T: Zero + Copy + Send + Sync> Column<T> {
    /// Returns an empty column with this capacity; its memory is touched only when it is filled.
    pub(crate) fn with_capacity(capacity: usize) -> Self {
        let values = vec![T::zero(); capacity];
        // Pages of 2 MiB: the system fills one in less time than 512 small ones, and look-ups find
        // them.
        if size_of_val(&values[..]) >= LARGE {
            crate::memory::on_large_pages(
                values.as_ptr().cast_mut().cast(),
                size_of_val(&values[..]),
            );
        }
        Column { values, len: 0 }
    }

    /// Returns the values.
    pub(crate) fn into_vec(mut self) -> Vec<T> {
        self.values.truncate(self.len);
        self.values
    }

    /// Returns the number of values.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Appends what `of` gives of each of `parts`.
    pub(crate) fn append<P: Sync>(&mut self, parts: &[P], of: impl Fn(&P) -> &[T] + Sync) {
        self.append_changed(parts, of, |_| (), |(), value| value);
    }

    /// Appends what `of` gives of each of `parts`, changed by `change`, which gets what `before`
    /// gives of the parts before as well.
    pub(crate) fn append_changed<P: Sync, B: Send>(
        &mut self,
        parts: &[P],
        of: impl Fn(&P) -> &[T] + Sync,
        mut before: impl FnMut(&P) -> B,
        change: impl Fn(&B, T) -> T + Sync,
    ) {
        let start = self.len;
        self.len += parts.iter().map(|part| of(part).len()).sum::<usize>();
        if self.values.len() < self.len {
            self.values.resize(self.len, T::zero());
        }
        let mut rest = &mut self.values[start..self.len];
        let copies = parts.iter().map(|part| {
            let (to, behind) = std::mem::take(&mut rest).split_at_mut(of(part).len());
            rest = behind;
            (part, before(part), to)
        });
        let mut copies: Vec<(&P, B, &mut [T])> = copies.collect();
        parallel::for_each(each_mut(&mut copies), |_, (part, before, to)| {
            to.iter_mut().zip(of(part)).for_each(|(to, &value)| *to = change(before, value));
        });
    }
}

/// [`Names`] that grow by what chunks read.
pub(crate) struct NameColumn {
    text: Column<u8>,
    ends: Column<u32>,
}

impl NameColumn {
    /// Empty, with room for `names` names of `bytes` bytes in all.
    pub(crate) fn with_capacity(names: usize, bytes: usize) -> Self {
        NameColumn { text: Column::with_capacity(bytes), ends: Column::with_capacity(names) }
    }

    /// Appends what `of` gives of each of `parts`.
    ///
    /// # Errors
    /// When the names together would pass 4 GiB.
    pub(crate) fn append<P: Sync>(
        &mut self,
        parts: &[P],
        of: impl Fn(&P) -> &Names + Sync,
    ) -> Result<(), NamesTooLong> {
        let mut bytes = self.text.len();
        self.text.append(parts, |part| of(part).text());
        u32::try_from(self.text.len()).map_err(|_| NamesTooLong)?;
        let before = |part: &P| {
            let before = bytes as u32;
            bytes += of(part).text().len();
            before
        };
        self.ends.append_changed(parts, |part| of(part).ends(), before, |start, end| start + end);
        Ok(())
    }

    /// Returns the names.
    pub(crate) fn into_names(self) -> Names {
        Names::from_parts(self.text.into_vec(), self.ends.into_vec())
    }
}

/// [`Nets`] that grow by what chunks read. In those of a chunk `net_start` has the ends of nets,
/// and weights may be left out.
pub(crate) struct NetColumns {
    names: NameColumn,
    start: Column<u32>,
    weight: Column<f64>,
    pin_node: Column<u32>,
    pin_dx: Column<f64>,
    pin_dy: Column<f64>,
}

impl NetColumns {
    /// Empty, with room for `nets` nets, `weights` of them with a weight, names of `bytes` bytes in
    /// all, and `pins` pins.
    pub(crate) fn with_capacity(nets: usize, weights: usize, bytes: usize, pins: usize) -> Self {
        let mut start = Column::with_capacity(nets + 1);
        start.append(&[[0]], |first| first);
        NetColumns {
            names: NameColumn::with_capacity(nets, bytes),
            start,
            weight: Column::with_capacity(weights),
            pin_node: Column::with_capacity(pins),
            pin_dx: Column::with_capacity(pins),
            pin_dy: Column::with_capacity(pins),
        }
    }

    /// Returns the number of pins.
    pub(crate) fn pins(&self) -> usize {
        self.pin_node.len()
    }

    /// Appends what `of` gives of each of `parts`, of at most `u32::MAX` pins with those before.
    ///
    /// # Errors
    /// When the names together would pass 4 GiB.
    pub(crate) fn append<P: Sync>(
        &mut self,
        parts: &[P],
        of: impl Fn(&P) -> &Nets + Sync,
    ) -> Result<(), NamesTooLong> {
        self.names.append(parts, |part| &of(part).names)?;
        let mut pins = self.pins();
        let before = |part: &P| {
            let before = pins as u32;
            pins += of(part).pin_node.len();
            before
        };
        self.start.append_changed(parts, |p| &of(p).net_start, before, |pins, end| pins + end);
        self.weight.append(parts, |part| &of(part).weight);
        self.pin_node.append(parts, |part| &of(part).pin_node);
        self.pin_dx.append(parts, |part| &of(part).pin_dx);
        self.pin_dy.append(parts, |part| &of(part).pin_dy);
        Ok(())
    }

    /// Returns the nets; each weighs 1 where no chunk had weights.
    pub(crate) fn into_nets(self) -> Nets {
        let weight = match self.weight.len() {
            0 => vec![1.0; self.start.len() - 1],
            _ => self.weight.into_vec(),
        };
        Nets {
            names: self.names.into_names(),
            net_start: self.start.into_vec(),
            weight,
            pin_node: self.pin_node.into_vec(),
            pin_dx: self.pin_dx.into_vec(),
            pin_dy: self.pin_dy.into_vec(),
        }
    }
}

/// Removes all nets of a part of a file, in which `net_start` has the ends of nets.
pub(crate) fn clear_nets(nets: &mut Nets) {
    let Nets { names, net_start, weight, pin_node, pin_dx, pin_dy } = nets;
    names.clear();
    [net_start, pin_node].into_iter().for_each(Vec::clear);
    [weight, pin_dx, pin_dy].into_iter().for_each(Vec::clear);
}

/// Capacity for the `stated` entries of a header, but never more than a text of
/// `bytes` bytes can hold when an entry takes at least `least` of them.
pub(crate) fn capacity(stated: Option<u64>, bytes: usize, least: usize) -> usize {
    let most = bytes / least;
    stated.map_or(0, |n| usize::try_from(n).map_or(most, |n| n.min(most)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_grow_beyond_their_capacity() {
        let parts: Vec<Vec<u32>> = (0..40).map(|k| (0..k).collect()).collect();
        for capacity in [0, 7, 100_000] {
            let (mut copied, mut moved) =
                (Column::with_capacity(capacity), Column::with_capacity(0));
            for parts in parts.chunks(3) {
                copied.append(parts, |part| part);
                let mut count = 0;
                let before = |part: &Vec<u32>| {
                    count += part.len() as u32;
                    count
                };
                moved.append_changed(parts, |part| part, before, |count, v| 1000 * count + v);
            }
            assert_eq!(copied.into_vec(), parts.concat());
            let moved = moved.into_vec();
            assert_eq!((moved.len(), &moved[3..6]), (780, &[3000, 3001, 3002][..]));
        }
    }

    #[test]
    fn names_of_parts_follow_one_another() {
        let parts = [&["a", "bc"][..], &[], &["d", "", "é"]].map(|list| {
            let mut names = Names::default();
            list.iter().for_each(|n| names.push(n));
            names
        });
        let mut all = NameColumn::with_capacity(1, 2);
        all.append(&parts[..1], |part| part).unwrap();
        all.append(&parts[1..], |part| part).unwrap();
        assert!(all.into_names().iter().eq(["a", "bc", "d", "", "é"]));
    }

    #[test]
    fn capacity_never_trusts_a_header() {
        assert_eq!(capacity(Some(10), 1000, 2), 10);
        assert_eq!(capacity(Some(1_000_000_000_000), 1000, 2), 500);
        assert_eq!(capacity(Some(u64::MAX), 1000, 2), 500);
        assert_eq!(capacity(None, 1000, 2), 0);
    }
}
