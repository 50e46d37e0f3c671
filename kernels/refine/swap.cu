// Detailed placement: cells go near where their nets are shortest (src/refine/swap.rs, whose searches these are).
//
//   refine_slopes  slopes of the length of cells' nets, where they are out of date; a thread per cell
//   propose_swap   the best gap, place between neighbours or cell to change places with; a thread per cell, of a warp
//                  those of a few lanes
//
// Cells of one batch are at all places of the die, so threads share little. A thread keeps the nets of its cell, up
// to FEW_PINS, in local memory (interleaved by thread). It looks at 5 rows, and at 17 as long as nothing is found,
// with up to 9 gaps and cells each.
//
// Memory traffic: per cell 40 bytes a pin and 128 a net once; per candidate one bit of `edges`, 4 bytes of
// `standing`, a Cell (80), its Spot and Slopes (16 + 40), and the nets of those that may gain. Blocks of 128 threads;
// no shared memory.
#include "refine/state.cuh"

/// Rows that are looked at on each side of the best one, and as long as no better place is found.
constexpr int ROWS = 2, MOST_ROWS = 8;
/// Cells that are looked at on each side of the best place in a row, and those between which neighbours may give way.
constexpr int CELLS = 4, NEAR = 2;
/// Free runs that a search for room looks at, to either side.
constexpr u32 RUNS = 16;

PF_KERNEL(256) refine_slopes(const Refine s) {
    const u32 cell = blockIdx.x * blockDim.x + threadIdx.x;
    if (cell >= s.cell_count || !s.stale[cell]) return;
    s.slopes[cell] = slopes_of(s, cell);
    s.stale[cell] = 0;
}

/// A key of the order of doubles that `f64::total_cmp` has.
__device__ __forceinline__ i64 key_of(double value) {
    const i64 bits = __double_as_longlong(value);
    return bits ^ i64(u64(bits >> 63) >> 1);
}

__device__ __forceinline__ bool is_before(const Break& a, const Break& b) {
    const i64 x = key_of(a.at), y = key_of(b.at);
    return x < y || (x == y && key_of(a.rise) < key_of(b.rise));
}

/// Sorts breakpoints: a heap for many.
__device__ void sort(Break* all, u32 count) {
    if (count <= 2 * FEW_PINS) {
        for (u32 k = 1; k < count; ++k) {
            const Break one = all[k];
            u32 at = k;
            for (; at > 0 && is_before(one, all[at - 1]); --at) all[at] = all[at - 1];
            all[at] = one;
        }
        return;
    }
    u32 root = count / 2, end = count;
    while (end > 1) {
        if (root > 0) {
            --root;
        } else {
            --end;
            const Break last = all[end];
            all[end] = all[0];
            all[0] = last;
        }
        const Break one = all[root];
        u32 at = root;
        for (u32 child = 2 * at + 1; child < end; child = 2 * at + 1) {
            if (child + 1 < end && is_before(all[child], all[child + 1])) ++child;
            if (!is_before(one, all[child])) break;
            all[at] = all[child];
            at = child;
        }
        all[at] = one;
    }
}

struct Interval {
    double low, high;
};

/// The interval on which a piecewise-linear convex function is least, given its breakpoints.
__device__ __noinline__ Interval flat_part(Break* all, u32 count) {
    sort(all, count);
    double half = 0;
    for (u32 k = 0; k < count; ++k) half += all[k].rise;
    half /= 2.0;
    double sum = 0;
    for (u32 k = 0; k < count; ++k) {
        sum += all[k].rise;
        if (sum > times(half, 1.0 + 1e-12)) return {all[k].at, all[k].at};
        if (sum >= times(half, 1.0 - 1e-12)) return {all[k].at, k + 1 < count ? all[k + 1].at : all[k].at};
    }
    return {-1.0 / 0.0, 1.0 / 0.0};
}

/// `limited` of src/rows, and rounded.
__device__ __forceinline__ int site_at(const Cell& of, const RowOfSites& row, double x) {
    const double most = 1073741824.0, sites = (x - of.centre - row.x) / row.pitch;
    return int(round(sites < -most ? -most : sites > most ? most : sites));
}

/// A part of a span, if it is one.
struct Part {
    Span span;
    bool is;
};

__device__ __forceinline__ int saturated(i64 value) {
    return int(value < -2147483648LL ? -2147483648LL : value > 2147483647LL ? 2147483647LL : value);
}

__device__ __forceinline__ Part part_of(const Span& span, const Runs& runs, u32 k, u32 fence) {
    if (k >= runs.count) return {{0, 0}, false};
    const RunOfSites run = runs.of[k];
    const Span part = {max(span.left, run.start), min(span.right, run.end)};
    return {part, part.left < part.right && run.fence == fence};
}

/// The part of a span in the run nearest to `near`.
__device__ __noinline__ Part nearest_part(const Span& span, const Runs& runs, int near, u32 fence) {
    const u32 after = runs.until(near);
    const Part before = after ? part_of(span, runs, after - 1, fence) : Part{{0, 0}, false};
    if (before.is && before.span.left <= near && near < before.span.right) return before;
    const Part beyond = part_of(span, runs, after, fence);
    if (!before.is || !beyond.is) return before.is ? before : beyond;
    const auto distance = [&](const Span& part) {
        return max(max(saturated(i64(part.left) - near), saturated(i64(near) - part.right)), 0);
    };
    return distance(beyond.span) < distance(before.span) ? beyond : before;
}

/// The part of a span nearest to `near` with so many sites at least.
__device__ __noinline__ Part nearest_room(const Span& span, const Runs& runs, int near, u32 fence, int sites) {
    const u32 after = runs.until(near);
    const auto room = [&](const RunOfSites& run) -> Part {
        const Span part = {max(span.left, run.start), min(span.right, run.end)};
        return {part, run.fence == fence && i64(part.right) - part.left >= sites};
    };
    Part left = {{0, 0}, false}, right = {{0, 0}, false};
    for (u32 n = 0; n < RUNS && n < after && !left.is; ++n) {
        const RunOfSites run = runs.of[after - 1 - n];
        if (run.end <= span.left) break;
        left = room(run);
    }
    for (u32 n = 0; n < RUNS && after + n < runs.count && !right.is; ++n) {
        const RunOfSites run = runs.of[after + n];
        if (run.start >= span.right) break;
        right = room(run);
    }
    if (!left.is || !right.is) return left.is ? left : right;
    const auto distance = [&](const Span& part) {
        const int from = saturated(i64(near) - saturated(i64(part.right) - sites));
        return max(max(from, saturated(i64(part.left) - near)), 0);
    };
    return distance(right.span) < distance(left.span) ? right : left;
}

/// The sites of the row of a cell that it and the gaps beside it take.
__device__ __noinline__ Span room_of(const Refine& s, u32 cell) {
    const Cell& of = s.cells[cell];
    const Spot spot = s.spots[cell];
    const u32 band = s.rows[spot.row].band;
    const int before = edge_before(s, band, spot.site);
    const Span around = {before == FAR_LEFT ? FAR_LEFT : right_of(s, band, before), edge_from(s, band, spot.site + 1)};
    const Part room = nearest_part(around, segments_of(s, of, spot.row), spot.site, of.fence);
    return room.is ? room.span : Span{spot.site, spot.site + of.sites};
}

/// The row, of those that are searched, whose bottom edge is nearest to `y`.
__device__ __forceinline__ int nearest_row(const Refine& s, double y) {
    const RowOfSites* rows = s.rows + s.first_row;
    const u32 count = s.end_row - s.first_row;
    u32 low = 0, high = count;
    while (low < high) {
        const u32 middle = (low + high) / 2;
        if (rows[middle].y < y) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == 0) return 0;
    return int(low == count || rows[low].y - y > y - rows[low - 1].y ? low - 1 : low);
}

/// A number that the gain of the cell's nets does not exceed if it goes there, without a look at the nets.
__device__ __forceinline__ double most_gain(const Refine& s, u32 cell, const Pose& to) {
    const Pose from = s.poses[cell];
    const Slopes slopes = s.slopes[cell];
    const auto along = [](double way, double high, double low) { return times(way, way > 0 ? -high : low); };
    const double turned = from.flipped == to.flipped ? 0.0 : slopes.turned;
    return along(to.x - from.x, slopes.towards[0], slopes.towards[1]) +
           along(to.y - from.y, slopes.towards[2], slopes.towards[3]) + turned;
}

__device__ double gain_along_x(const Refine& s, u32 cell, double x) {
    const Pose pose = s.poses[cell];
    double gain = 0;
    for (u32 p = s.pin_start[cell]; p < s.pin_start[cell + 1]; ++p) {
        const Reach net = reach_of(s, cell, s.pins[p], 0);
        gain += net.length(pose.x, pose.mirrored) - net.length(x, pose.mirrored);
    }
    return gain;
}

__device__ double gain_of(const Refine& s, u32 cell, const Pose& to) {
    double gain = 0;
    for (u32 p = s.pin_start[cell]; p < s.pin_start[cell + 1]; ++p) {
        const Pin& pin = s.pins[p];
        const Outermost* net = s.extremes + 2 * size_t(pin.net);
        double now[4], then[4], own[4];
        whole_of(net, now);
        without(net, cell, then);
        on_die(pin, to, own);
        enlarge(then, own);
        gain += times(net[0].weight, length_of(now) - length_of(then));
    }
    return gain;
}

__device__ bool share_a_net(const Refine& s, u32 a, u32 b) {
    if (!(s.cells[a].nets & s.cells[b].nets)) return false;
    u32 i = s.pin_start[a], j = s.pin_start[b];
    const u32 ends[2] = {s.pin_start[a + 1], s.pin_start[b + 1]};
    while (i < ends[0] && j < ends[1]) {
        const u32 x = s.pins[i].net, y = s.pins[j].net;
        if (x == y) return true;
        if (x < y) {
            ++i;
        } else {
            ++j;
        }
    }
    return false;
}

/// By how many units two moves together shorten the nets.
__device__ i64 gain_of_both(const Refine& s, u32 a, const Pose& to_a, u32 b, const Pose& to_b) {
    u32 i = s.pin_start[a], j = s.pin_start[b];
    const u32 ends[2] = {s.pin_start[a + 1], s.pin_start[b + 1]};
    i64 gain = 0;
    while (i < ends[0] || j < ends[1]) {
        const u32 x = i < ends[0] ? s.pins[i].net : NONE, y = j < ends[1] ? s.pins[j].net : NONE;
        const u32 id = min(x, y);
        const Outermost* net = s.extremes + 2 * size_t(id);
        double now[4], then[4], own[4];
        whole_of(net, now);
        if (x == y) {
            const auto moved = [&](u32 cell) { return cell == a || cell == b; };
            for (u32 k = 0; k < 4; ++k) then[k] = side_without(s, id, k, moved);
        } else {
            without(net, x < y ? a : b, then);
        }
        if (x == id) {
            on_die(s.pins[i++], to_a, own);
            enlarge(then, own);
        }
        if (y == id) {
            on_die(s.pins[j++], to_b, own);
            enlarge(then, own);
        }
        gain += units_of(s, times(net[0].weight, length_of(now) - length_of(then)));
    }
    return gain;
}

/// A cell that looks for a better place.
struct Seeker {
    const Refine& s;
    const u32 cell;
    const Cell& of;
    const Spot spot;
    const Reach *along_x, *along_y;  // its nets
    u32 nets;
    double now;        // weighted length of its nets as it lies
    double most;       // by how much they get shorter in the row that is looked at, without their length along x
    double x, least;   // where they are shortest along x, and how long
    double gain;       // of the best changes so far
    Span home;
    bool single;
    Runs segments;     // of the row that is looked at
    u32 count, tried;  // of changes
    Change best[PUSHED_CELLS + 1], trial[PUSHED_CELLS + 1];

    __device__ __forceinline__ double along(const Reach* nets_of, double at, bool reversed) const {
        double sum = 0;
        for (u32 k = 0; k < nets; ++k) sum += nets_of[k].length(at, reversed);
        return sum;
    }

    /// By how much the cell's own move to a site of the row shortens its nets.
    __device__ __noinline__ double own_gain(u32 row, int site) const {
        return most - along(along_x, left_of(s.rows[row], site) + of.centre, spot.mirrored);
    }

    __device__ __forceinline__ bool can_gain(u32 row, int site) const { return own_gain(row, site) > gain; }

    __device__ __forceinline__ void offer(double by, const Change& one) {
        gain = by;
        count = 1;
        best[0] = one;
    }

    /// Looks at the gaps and cells of a row that are nearest to the best x.
    __device__ void look(u32 row) {
        u32 first, end;
        if (!bands_of(s, of, row, first, end)) return;
        const Pose pose = pose_at(s, cell, row, 0, spot.mirrored);
        most = now - along(along_y, pose.y, pose.flipped);
        if (most - least <= gain) return;
        const int want = site_at(of, s.rows[row], x), sites = of.sites;
        segments = segments_of(s, of, row);
        if (!can_gain(row, want)) return;
        const u32 band = s.rows[row].band;
        const int first_before = edge_before(s, band, want);
        int before = first_before, edge = edge_from(s, band, want);
        for (int n = 0; n <= CELLS; ++n) {
            const int nearest = before == FAR_LEFT ? want : right_of(s, band, before) - sites;
            if (!can_gain(row, max(want, nearest))) break;
            look_at(row, band, want, before, edge, n);
            if (edge == FAR_RIGHT) break;
            before = edge;
            edge = edge_from(s, band, edge + 1);
        }
        edge = first_before;
        for (int n = 1; n <= CELLS && edge != FAR_LEFT; ++n) {
            if (!can_gain(row, min(want, right_of(s, band, edge)))) break;
            before = edge_before(s, band, edge);
            look_at(row, band, want, before, edge, n);
            edge = before;
        }
    }

    /// Looks at the cell whose left edge is `edge` and the gap between it and the one before.
    __device__ __noinline__ void look_at(u32 row, u32 band, int want, int before, int edge, int cells_away) {
        const Span between = {before == FAR_LEFT ? FAR_LEFT : right_of(s, band, before), edge};
        const Part gap = nearest_part(between, segments, want, of.fence);
        if (gap.is && gap.span.right - gap.span.left >= of.sites) {
            fill_gap(row, want, gap.span);
        } else {
            if (gap.is && single && cells_away <= NEAR) give_way(row, band, before, edge, gap.span);
            const Part room = nearest_room(between, segments, want, of.fence, of.sites);
            if (room.is) fill_gap(row, want, room.span);
        }
        if (edge != FAR_RIGHT) in_place_of(cell_at(s, band, edge), row, want);
    }

    __device__ __noinline__ void fill_gap(u32 row, int want, const Span& gap) {
        const int site = min(max(want, gap.left), gap.right - of.sites);
        const double own = own_gain(row, site);
        if (!(own > gain)) return;
        const u32 self = cell;
        if (single || fits(s, cell, row, site, [=](u32 other) { return other == self; })) {
            offer(own, {cell, row, site, spot.mirrored});
        }
    }

    /// Into a gap that is too narrow.
    __device__ void give_way(u32 row, u32 band, int before, int edge, const Span& gap) {
        const int last = gap.right - of.sites;
        for (u32 k = 0; k < 3; ++k) {
            const int site = k == 0 ? gap.left : k == 1 ? last : int((i64(gap.left) + last) / 2);
            const double own = own_gain(row, site);
            if (own <= gain) continue;
            tried = 1;
            trial[0] = {cell, row, site, spot.mirrored};
            double all;
            if (push(row, band, before, edge, site, own, all) && all > gain) {
                gain = all;
                count = tried;
                for (u32 n = 0; n < tried; ++n) best[n] = trial[n];
            }
        }
    }

    /// Adds to `trial` that a neighbour goes to a site of the row, if it may, and to `upper` the most that its nets
    /// can become shorter by.
    __device__ bool pushed(u32 row, u32 other, int site, double& upper) {
        const Spot theirs = s.spots[other];
        if (tried > PUSHED_CELLS || theirs.row != row || !is_single(s, s.cells[other], row)) return false;
        trial[tried++] = {other, row, site, theirs.mirrored};
        upper += most_gain(s, other, pose_at(s, other, row, site, theirs.mirrored));
        return true;
    }

    /// Moves neighbours until there is room for the cell at `site`. Gives by how much wires become shorter.
    __device__ __noinline__ bool push(u32 row, u32 band, int before, int edge, int site, double own, double& all) {
        double upper = own;
        int at = site + of.sites;
        for (; edge != FAR_RIGHT; edge = edge_from(s, band, edge + 1)) {
            const u32 other = cell_at(s, band, edge);
            if (other == cell) continue;
            if (edge >= at) break;
            if (!pushed(row, other, at, upper)) return false;
            at += s.cells[other].sites;
        }
        at = site;
        for (; before != FAR_LEFT; before = edge_before(s, band, before)) {
            const u32 other = cell_at(s, band, before);
            if (other == cell) continue;
            const int sites = s.cells[other].sites;
            if (before + sites <= at) break;
            at -= sites;
            if (!pushed(row, other, at, upper)) return false;
        }
        if (upper <= gain) return false;
        for (u32 k = 1; k < tried; ++k) {
            if (!holds(s, s.cells[trial[k].cell], row, trial[k].site)) return false;
        }
        all = own;
        for (u32 k = 1; k < tried; ++k) {
            const u32 other = trial[k].cell;
            all += gain_along_x(s, other, left_of(s.rows[row], trial[k].site) + s.cells[other].centre);
        }
        return true;
    }

    /// In place of another cell of the row, which comes here.
    __device__ __noinline__ void in_place_of(u32 other, u32 row, int want) {
        if (other == cell) return;
        const Cell& theirs = s.cells[other];
        const Spot there = s.spots[other];
        if (theirs.view != of.view || theirs.fence != of.fence || there.row != row) return;
        int site, back;
        if (theirs.sites == of.sites && theirs.kind == of.kind) {
            site = there.site;
            back = spot.site;
        } else {
            u32 first, end;
            if (!single || !is_single(s, theirs, row) || !bands_of(s, theirs, spot.row, first, end)) return;
            const Span room = room_of(s, other);
            if (room.right - room.left < of.sites || home.right - home.left < theirs.sites) return;
            if (there.row == spot.row && room.right > home.left && home.right > room.left) return;
            back = spot.site + (of.sites - theirs.sites) / 2;
            site = min(max(want, room.left), room.right - of.sites);
            back = min(max(back, home.left), home.right - theirs.sites);
        }
        const double own = own_gain(row, site);
        if (own <= gain) return;
        const Pose from = pose_at(s, other, spot.row, back, there.mirrored);
        double by;
        if (share_a_net(s, cell, other)) {
            const Pose to = pose_at(s, cell, row, site, spot.mirrored);
            by = length_of_units(s, gain_of_both(s, cell, to, other, from));
        } else {
            if (own + most_gain(s, other, from) <= gain) return;
            by = own + gain_of(s, other, from);
        }
        if (by > gain) {
            offer(by, {cell, row, site, spot.mirrored});
            best[count++] = {other, spot.row, back, there.mirrored};
        }
    }
};

PF_KERNEL(128) propose_swap(const Refine s, const Batch batch) {
    const u32 lane = threadIdx.x % 32, index = (blockIdx.x * 4 + threadIdx.x / 32) * batch.lanes + lane;
    if (lane >= batch.lanes || index >= batch.count) return;
    const u32 cell = nth(batch, batch.first + index);
    const Slopes slopes = s.slopes[cell];
    bool pulled = false;
    for (u32 k = 0; k < 4; ++k) pulled |= slopes.towards[k] < 0;
    s.counts[index] = 0;
    if (!pulled) return;

    Reach few[2 * FEW_PINS];
    Break few_breaks[2 * FEW_PINS];
    const u32 first = s.pin_start[cell], nets = s.pin_start[cell + 1] - first;
    const Cell& of = s.cells[cell];
    const bool heavy = nets > FEW_PINS;
    Reach* const along_x = heavy ? s.reaches + 2 * size_t(of.heavy) : few;
    Reach* const along_y = along_x + (heavy ? nets : FEW_PINS);
    Break* const breaks = heavy ? s.breaks + 2 * size_t(of.heavy) : few_breaks;
    const Pose pose = s.poses[cell];
    double best[2];
    for (u32 axis = 0; axis < 2; ++axis) {
        Reach* const along = axis ? along_y : along_x;
        const bool reversed = axis ? pose.flipped : pose.mirrored;
        for (u32 k = 0; k < nets; ++k) {
            const Reach net = reach_of(s, cell, s.pins[first + k], axis);
            along[k] = net;
            const double high = net.pins[reversed ? 1 : 0], low = net.pins[reversed ? 0 : 1];
            breaks[2 * k] = {low - net.others[1], net.weight};
            breaks[2 * k + 1] = {net.others[0] - high, net.weight};
        }
        const Interval flat = flat_part(breaks, 2 * nets);
        const double at = axis ? pose.y : pose.x, raised = at > flat.low ? at : flat.low;
        best[axis] = raised < flat.high ? raised : flat.high;
    }
    if (best[0] == pose.x && best[1] == pose.y) return;
    const Spot spot = s.spots[cell];
    Seeker seeker = {s, cell, of, spot, along_x, along_y, nets};
    seeker.now = seeker.along(along_x, pose.x, pose.mirrored) + seeker.along(along_y, pose.y, pose.flipped);
    seeker.x = best[0];
    seeker.least = seeker.along(along_x, best[0], pose.mirrored);
    seeker.home = room_of(s, cell);
    seeker.single = is_single(s, of, spot.row);
    seeker.gain = s.least_gain;
    seeker.count = 0;
    const int rows = int(s.end_row - s.first_row), middle = nearest_row(s, best[1] - of.half_height);
    // The best row first: what is found there is seldom found to be better in others.
    for (int k = 0; k <= MOST_ROWS; ++k) {
        if (k > ROWS && seeker.count) break;
        if (middle - k >= 0) seeker.look(s.first_row + middle - k);
        if (k && middle + k < rows) seeker.look(s.first_row + middle + k);
    }
    for (u32 k = 0; k < seeker.count; ++k) s.changes[size_t(index) * batch.stride + k] = seeker.best[k];
    propose(s, index, seeker.count);
}
