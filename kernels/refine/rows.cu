// Detailed placement within rows: neighbours in another order, cells shifted in their order, cells mirrored
// (src/refine/reorder.rs, shift.rs and mirror.rs, whose choices these are), and the lists of cells that these go by.
//
//   count_cells      cells of each band; a warp per band
//   list_cells       the cells of each band in order; a warp per band
//   find_stretches   cells of rows that are shifted together; a thread per row
//   propose_reorder  the best order of four neighbours; a warp per window
//   propose_shift    the best places of up to 48 neighbours; a warp per stretch
//   propose_mirror   whether a cell is better mirrored; a thread per cell
//
// propose_reorder: a lane for each of the 32 pairs of a cell and a set of cells at its left, and for each of the 24
// orders. All lanes go through the nets of the four cells in order; a net of one cell is measured by the lanes of
// that cell, one of several by the lanes of orders. No length is kept in memory.
//
// propose_shift: lanes find the best places of single cells; neighbours that push one another become one clump (src/
// refine/shift.rs), whose best place the warp finds by bisection: the slope at a site is a sum of whole numbers over
// the ends of the clump's nets, which lie in global memory. It lies between the best places of the two parts.
//
// Memory traffic: 1 bit per site for the lists; per pin 40 bytes and per net 64; per end 24 bytes per step of a
// bisection, from the second-level cache. Blocks of 128 threads; 1.6 kB of shared memory per warp for propose_shift.
#include "refine/state.cuh"

/// Cells of each band in order, and where each row's begin: rows that have the same band have the same cells.
struct Listed {
    const u32* start;  // by band
    u32* cells;
};

/// Tasks of rows: the first of each row, from `Refine::first_row` on, and their number at the end.
struct OfRows {
    const u32* start;
    u32 offset, padding;
};

/// Neighbours on one segment of a row: cells `first..end` of its band.
struct alignas(8) Stretch {
    u32 first, end;
    int left, right;  // between these sites nothing else is
};

constexpr u32 WINDOW = WINDOW_CELLS, RUN = STRETCH_CELLS;

/// The row that a task is of.
__device__ __forceinline__ u32 row_of(const Refine& s, const u32* start, u32 task) {
    u32 low = 0, high = s.end_row - s.first_row;  // the first row whose end is beyond it
    while (low < high) {
        const u32 middle = (low + high) / 2;
        if (start[middle + 1] <= task) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

PF_KERNEL(128) count_cells(const Refine s, u32* counts) {
    const u32 band = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (band >= s.band_count) return;
    const BandOfSites of = s.bands[band];
    u32 count = 0;
    for (u32 word = lane; word < of.words; word += 32) count += __popcll(s.edges[of.word + word]);
    count = warp_sum(count);
    if (lane == 0) counts[band] = count;
}

PF_KERNEL(128) list_cells(const Refine s, const Listed listed) {
    const u32 band = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (band >= s.band_count) return;
    const BandOfSites of = s.bands[band];
    u32 at = listed.start[band];
    for (u32 from = 0; from < of.words; from += 32) {
        u64 bits = from + lane < of.words ? s.edges[of.word + from + lane] : 0;
        const u32 count = __popcll(bits), until = warp_prefix(count);
        u32 to = at + until - count;
        for (; bits; bits &= bits - 1) {
            const u32 site = (from + lane) * 64 + __ffsll(i64(bits)) - 1;
            listed.cells[to++] = s.standing[size_t(of.word) * 64 + site];
        }
        at += __shfl_sync(ALL_LANES, until, 31);
    }
}

PF_KERNEL(128) find_stretches(const Refine s, const Listed listed, const OfRows room, u32* counts, Stretch* stretches) {
    const u32 at = blockIdx.x * blockDim.x + threadIdx.x, row = s.first_row + at;
    if (row >= s.end_row) return;
    const u32 band = s.rows[row].band, begin = listed.start[band], count = listed.start[band + 1] - begin;
    const u32* cells = listed.cells + begin;
    u32 first = 0, found = 0, most = RUN - room.offset;
    int before = FAR_LEFT;  // the right edge of the cell before the first
    while (first < count) {
        const Cell& of = s.cells[cells[first]];
        const int left = s.spots[cells[first]].site;
        const Runs segments = segments_of(s, of, row);
        const u32 after = segments.until(left);
        if (!after) break;
        const RunOfSites run = segments.of[after - 1];
        u32 end = first;
        int right = before;
        for (; end < count && end - first < most; ++end) {
            const Cell& next = s.cells[cells[end]];
            const Spot spot = s.spots[cells[end]];
            const bool here = next.view == of.view && next.fence == of.fence && spot.row == row;
            if (spot.site >= run.end || !here || !is_single(s, next, row)) break;
            right = spot.site + next.sites;
        }
        if (end == first) {
            before = left + of.sites;
            ++first;
            continue;
        }
        const int beyond = end < count ? s.spots[cells[end]].site : FAR_RIGHT;
        stretches[room.start[at] + found++] = {first, end, max(before, run.start), min(beyond, run.end)};
        before = right;
        first = end;
        most = RUN;
    }
    counts[at] = found;
}

PF_KERNEL(128) propose_reorder(const Refine s, const Batch batch, const Listed listed, const OfRows windows) {
    const u32 index = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (index >= batch.count) return;
    const u32 task = nth(batch, batch.first + index), of_row = row_of(s, windows.start, task);
    const u32 row = s.first_row + of_row, band = s.rows[row].band;
    const u32 first = windows.offset + WINDOW * (task - windows.start[of_row]);
    const u32 in_band = listed.start[band + 1] - listed.start[band];
    if (lane == 0) s.counts[index] = 0;
    if (first >= in_band) return;
    const u32 count = min(in_band - first, WINDOW);
    const u32* standing = listed.cells + listed.start[band] + first;
    u32 cells[WINDOW] = {};
    int sites[WINDOW] = {}, gaps[WINDOW] = {}, edge = 0, end = 0;
    Spot spots[WINDOW] = {};
    double centres[WINDOW] = {};
    u32 pins[WINDOW] = {}, pin_ends[WINDOW] = {};
    bool here = true;
#pragma unroll
    for (u32 k = 0; k < WINDOW; ++k) {
        if (k >= count) continue;
        cells[k] = standing[k];
        const Cell& of = s.cells[cells[k]];
        spots[k] = s.spots[cells[k]];
        here = here && spots[k].row == row && is_single(s, of, row);
        sites[k] = of.sites;
        centres[k] = of.centre;
        if (k == 0) {
            edge = spots[k].site;
        } else {
            gaps[k - 1] = spots[k].site - end;
        }
        end = spots[k].site + of.sites;
        pins[k] = s.pin_start[cells[k]];
        pin_ends[k] = s.pin_start[cells[k] + 1];
    }
    const Cell& of_first = s.cells[cells[0]];
    if (!here || !lies_in({edge, end}, segments_of(s, of_first, row), of_first.fence)) return;

    const RowOfSites on = s.rows[row];
    // The centre of cell `k` with the cells of `set` at its left.
    const auto site_after = [&](u32 set) {
        int site = edge;
        u32 gap = 0;
#pragma unroll
        for (u32 k = 0; k < WINDOW; ++k) {
            if (set >> k & 1) site += sites[k] + gaps[gap++];
        }
        return site;
    };
    const auto centre_of = [&](u32 k) {
        double centre = centres[0];
#pragma unroll
        for (u32 n = 1; n < WINDOW; ++n) centre = k == n ? centres[n] : centre;
        return centre;
    };
    const u32 everything = (1u << count) - 1;
    const u32 own = lane / 8, low = lane % 8 & ((1u << own) - 1), own_set = low | (lane % 8 - low) << 1;
    const double own_x = left_of(on, site_after(own_set & everything)) + centre_of(own);
    const double least_x = left_of(on, edge) + centre_of(own);
    const double most_x = left_of(on, site_after(everything & ~(1u << own))) + centre_of(own);
    // The order that this lane measures, in lexicographic order, and the centres of its cells.
    u32 order[WINDOW], sets[WINDOW + 1] = {};
    double x[WINDOW] = {};
    u32 orders = 1;
    for (u32 k = 2; k <= count; ++k) orders *= k;
    u32 rest = lane < orders ? lane : 0, block = orders;
#pragma unroll
    for (u32 place = 0; place < WINDOW; ++place) {
        if (place >= count) continue;
        block /= count - place;
        u32 nth_left = rest / block, cell = 0;
        rest %= block;
        while (sets[place] >> cell & 1 || nth_left) {
            if (!(sets[place] >> cell & 1)) --nth_left;
            ++cell;
        }
        order[place] = cell;
        const double at = left_of(on, site_after(sets[place])) + centre_of(cell);
#pragma unroll
        for (u32 k = 0; k < WINDOW; ++k) x[k] = k == cell ? at : x[k];
        sets[place + 1] = sets[place] | 1u << cell;
    }

    double of_own = 0, shared = 0;
    while (true) {
        u32 net = NONE, of_net[WINDOW];
#pragma unroll
        for (u32 k = 0; k < WINDOW; ++k) {
            of_net[k] = pins[k] < pin_ends[k] ? s.pins[pins[k]].net : NONE;
            net = min(net, of_net[k]);
        }
        if (net == NONE) break;
        u32 several = 0, one = 0;
#pragma unroll
        for (u32 k = 0; k < WINDOW; ++k) {
            if (of_net[k] != net) continue;
            ++several;
            one = k;
        }
        const Outermost& along = s.extremes[2 * size_t(net)];
        double high, low_side;
        if (several > 1) {
            const auto moved = [&](u32 cell) {
                bool is = false;
#pragma unroll
                for (u32 k = 0; k < WINDOW; ++k) is = is || (of_net[k] == net && cells[k] == cell);
                return is;
            };
            high = side_without<true>(s, net, 0, moved);
            low_side = side_without<true>(s, net, 1, moved);
        }
#pragma unroll
        for (u32 k = 0; k < WINDOW; ++k) {
            if (of_net[k] != net) continue;
            const Pin& pin = s.pins[pins[k]++];
            if (several == 1) {
                if (own != one) continue;
                Reach reach = reach_of(s, cells[k], pin, 0);
                if (spots[k].mirrored) {
                    const double right = reach.pins[0];
                    reach.pins[0] = reach.pins[1];
                    reach.pins[1] = right;
                }
                const double from = reach.pins[1] - reach.others[1], to = reach.others[0] - reach.pins[0];
                if (!(from <= least_x && most_x <= to)) of_own += reach.length(own_x, false);
            } else {
                const u32 right = spots[k].mirrored ? 1 : 0;
                const double a = pin.sides[right] + x[k], b = pin.sides[1 - right] - x[k];
                high = a > high ? a : high;
                low_side = b > low_side ? b : low_side;
            }
        }
        if (several > 1) shared += times(along.weight, high + low_side);
    }
    double length = 0;
#pragma unroll
    for (u32 place = 0; place < WINDOW; ++place) {
        if (place >= count) continue;
        const u32 k = order[place], below = (1u << k) - 1;
        const u32 from = k * 8 + ((sets[place] & below) | (sets[place] >> (k + 1) << k));
        length += __shfl_sync(ALL_LANES, of_own, from);
    }
    length += shared;
    const double best = __shfl_sync(ALL_LANES, length, 0) - s.least_gain;
    u32 winner = lane;
    double shortest = lane < orders && length < best ? length : 1.0 / 0.0;
    for (u32 n = 16; n > 0; n /= 2) {
        const double other = __shfl_xor_sync(ALL_LANES, shortest, n);
        const u32 of_other = __shfl_xor_sync(ALL_LANES, winner, n);
        if (other < shortest || (other == shortest && of_other < winner)) {
            shortest = other;
            winner = of_other;
        }
    }
    if (lane != winner || !(shortest < best)) return;
    u32 changes = 0;
#pragma unroll
    for (u32 place = 0; place < WINDOW; ++place) {
        if (place >= count) continue;
        const int site = site_after(sets[place]);
#pragma unroll
        for (u32 k = 0; k < WINDOW; ++k) {
            if (k != order[place] || site == spots[k].site) continue;
            s.changes[size_t(index) * batch.stride + changes++] = {cells[k], row, site, spots[k].mirrored};
        }
    }
    propose(s, index, changes);
}

/// What the warp of a stretch shares.
struct Shifted {
    i64 weight[RUN + 1];  // of the ends of the cells before
    u32 cell[RUN];
    int sites[RUN + 1];   // of the cells before
    u32 ends[RUN + 1];    // of the cells before
    int first[RUN], at[RUN], low[RUN];  // by clump its first cell, its place, and where its length begins to be least
};

/// The sum of rises until a site of the first cell, of one cell's end.
__device__ __forceinline__ i64 risen(const Ends& end, int site) {
    i64 sum = 0;
#pragma unroll
    for (u32 k = 0; k < 2; ++k) {
        if (site >= end.whole[k]) sum += site == end.whole[k] ? end.weight - end.part[k] : end.weight;
    }
    return sum;
}

PF_KERNEL(128)
propose_shift(const Refine s, const Batch batch, const Listed listed, const OfRows rows, const OfRows room,
              const Stretch* stretches) {
    __shared__ Shifted all[4];
    Shifted& of = all[threadIdx.x / 32];
    const u32 index = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (index >= batch.count) return;
    const u32 task = nth(batch, batch.first + index), of_row = row_of(s, rows.start, task);
    const u32 row = s.first_row + of_row;
    const Stretch stretch = stretches[room.start[of_row] + task - rows.start[of_row]];
    const u32 count = stretch.end - stretch.first;
    const u32* cells = listed.cells + listed.start[s.rows[row].band] + stretch.first;
    const RowOfSites on = s.rows[row];
    const int from = stretch.left - 1, beyond = stretch.right + 1;

    // The ends of nets, one cell after the other.
    u32 before = 0;
    int sites_before = 0;
    for (u32 k = lane; k - lane < count; k += 32) {
        const u32 cell = k < count ? cells[k] : 0;
        const u32 pins = k < count ? s.pin_start[cell + 1] - s.pin_start[cell] : 0;
        const int sites = k < count ? s.cells[cell].sites : 0;
        const u32 until = warp_prefix(pins);
        const int right = warp_prefix(sites);
        if (k < count) {
            of.cell[k] = cell;
            of.ends[k + 1] = before + until;
            of.sites[k + 1] = sites_before + right;
        }
        before += __shfl_sync(ALL_LANES, until, 31);
        sites_before += __shfl_sync(ALL_LANES, right, 31);
    }
    u32 pool = 0;
    if (lane == 0) {
        of.ends[0] = 0;
        of.sites[0] = 0;
        of.weight[0] = 0;
        pool = atomicAdd(&s.counters->ends, before);
        s.counts[index] = 0;
    }
    Ends* const ends = s.ends + __shfl_sync(ALL_LANES, pool, 0);
    __syncwarp();
    for (u32 k = 0, i = lane; i < before; i += 32) {
        while (of.ends[k + 1] <= i) ++k;
        const u32 cell = of.cell[k];
        const bool mirrored = s.poses[cell].mirrored;
        const double centre = s.cells[cell].centre;
        const Reach net = reach_of(s, cell, s.pins[s.pin_start[cell] + i - of.ends[k]], 0);
        const double high = net.pins[mirrored ? 1 : 0], low = net.pins[mirrored ? 0 : 1];
        const double at[2] = {low - net.others[1], net.others[0] - high};
        Ends end = {};
        end.weight = __double2ll_rz(times(net.weight, s.weight_units));
        end.cell = int(k);
#pragma unroll
        for (u32 n = 0; n < 2; ++n) {
            const double site = (at[n] - centre - on.x) / on.pitch;
            if (site <= double(from)) {
                end.whole[n] = from;
            } else if (site >= double(beyond)) {
                end.whole[n] = beyond;
            } else {
                const int towards_0 = int(site);
                end.whole[n] = towards_0 - (double(towards_0) > site ? 1 : 0);
                end.part[n] = __double2ll_rz(times(site - double(end.whole[n]), __ll2double_rn(end.weight)));
            }
        }
        ends[i] = end;
    }
    __syncwarp();

    // A clump's best places: from `low` on, in (least, most], to the result. `rises` is the sum of all rises, and not
    // 0.
    const auto flat_end = [&](u32 first, u32 last, int least, int most, i64 rises, int& low) {
        const u32 end = of.ends[last];
        const int offset = of.sites[first];
        const auto slope = [&](int site) {
            i64 sum = 0;
            for (u32 i = of.ends[first] + lane; i < end; i += 32) {
                sum += risen(ends[i], site + of.sites[ends[i].cell] - offset);
            }
            return warp_total(sum);
        };
        while (most - least > 1) {
            const int middle = least + (most - least) / 2;
            if (2 * slope(middle) >= rises) {
                most = middle;
            } else {
                least = middle;
            }
        }
        low = most;
        if (2 * slope(low) > rises) return low;
        int next = FAR_RIGHT;
        for (u32 i = of.ends[first] + lane; i < end; i += 32) {
            const Ends& one = ends[i];
            const int shift = offset - of.sites[one.cell];
#pragma unroll
            for (u32 n = 0; n < 2; ++n) {
                const int whole = one.whole[n] + shift;
                if (one.weight > one.part[n] && whole > low) next = min(next, whole);
                if (one.part[n] && whole + 1 > low) next = min(next, whole + 1);
            }
        }
        return warp_combine(next, [](int a, int b) { return min(a, b); });
    };
    // Single cells: a lane each.
    for (u32 k = lane; k - lane < count; k += 32) {
        if (k < count) {
            i64 weight = 0;
            for (u32 i = of.ends[k]; i < of.ends[k + 1]; ++i) weight += ends[i].weight;
            of.weight[k + 1] = weight;
            const int now = s.spots[of.cell[k]].site;
            int least = from - 1, most = beyond;
            if (weight) {
                const auto slope = [&](int site) {
                    i64 sum = 0;
                    for (u32 i = of.ends[k]; i < of.ends[k + 1]; ++i) sum += risen(ends[i], site);
                    return sum;
                };
                while (most - least > 1) {
                    const int middle = least + (most - least) / 2;
                    if (slope(middle) >= weight) {
                        most = middle;
                    } else {
                        least = middle;
                    }
                }
                int next = most;
                if (slope(most) == weight) {
                    next = FAR_RIGHT;
                    for (u32 i = of.ends[k]; i < of.ends[k + 1]; ++i) {
#pragma unroll
                        for (u32 n = 0; n < 2; ++n) {
                            const int whole = ends[i].whole[n];
                            if (ends[i].weight > ends[i].part[n] && whole > most) next = min(next, whole);
                            if (ends[i].part[n] && whole + 1 > most) next = min(next, whole + 1);
                        }
                    }
                }
                of.low[k] = most;
                of.at[k] = min(max(now, most), next);
            } else {
                of.low[k] = FAR_LEFT;
                of.at[k] = now;
            }
        }
    }
    __syncwarp();
    if (lane == 0) {
        for (u32 k = 0; k < count; ++k) of.weight[k + 1] += of.weight[k];
    }
    __syncwarp();
    // Neighbours that push one another become one clump.
    u32 clumps = 0;
    for (u32 k = 0; k < count; ++k) {
        u32 first = k;
        int at = of.at[k], low = of.low[k];
        while (clumps) {
            const u32 other = of.first[clumps - 1];
            const int sites = of.sites[first] - of.sites[other];
            if (of.at[clumps - 1] + sites <= at) break;
            const int near = int((i64(of.at[clumps - 1]) + (at - sites)) / 2);
            const i64 rises = 2 * (of.weight[k + 1] - of.weight[other]);
            const int low_before = of.low[clumps - 1], low_after = low == FAR_LEFT ? FAR_LEFT : low - sites;
            __syncwarp();
            at = near;
            low = FAR_LEFT;
            if (rises) {
                const int a = low_before == FAR_LEFT ? low_after : low_before;
                const int b = low_after == FAR_LEFT ? low_before : low_after;
                const int high = flat_end(other, k + 1, min(a, b) - 1, max(a, b), rises, low);
                at = min(max(near, low), high);
            }
            first = other;
            --clumps;
        }
        __syncwarp();
        if (lane == 0) {
            of.first[clumps] = int(first);
            of.at[clumps] = at;
            of.low[clumps] = low;
        }
        ++clumps;
        __syncwarp();
    }
    if (lane) return;
    // Cells at the walls: what is beyond is moved back, and pushes its neighbours.
    const auto sites_of = [&](u32 clump) {
        return of.sites[clump + 1 < clumps ? u32(of.first[clump + 1]) : count] - of.sites[of.first[clump]];
    };
    int least = stretch.left, most = stretch.right;
    for (u32 clump = 0; clump < clumps; ++clump) {
        of.at[clump] = max(of.at[clump], least);
        least = of.at[clump] + sites_of(clump);
    }
    for (u32 clump = clumps; clump-- > 0;) {
        of.at[clump] = min(of.at[clump], most - sites_of(clump));
        most = of.at[clump];
    }
    u32 changes = 0;
    for (u32 clump = 0; clump < clumps; ++clump) {
        const u32 first = of.first[clump], end = clump + 1 < clumps ? u32(of.first[clump + 1]) : count;
        for (u32 k = first; k < end; ++k) {
            const int site = of.at[clump] + of.sites[k] - of.sites[first];
            const Spot spot = s.spots[of.cell[k]];
            if (spot.site == site) continue;
            s.changes[size_t(index) * batch.stride + changes++] = {of.cell[k], row, site, spot.mirrored};
        }
    }
    propose(s, index, changes);
}

PF_KERNEL(128) propose_mirror(const Refine s, const Batch batch) {
    const u32 index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index >= batch.count) return;
    const u32 cell = nth(batch, batch.first + index);
    s.counts[index] = 0;
    if (!s.kinds[s.cells[cell].kind].mirrors) return;
    const Spot spot = s.spots[cell];
    const Pose pose = pose_at(s, cell, spot.row, spot.site, !spot.mirrored);
    double now = 0, then = 0;
    for (u32 p = s.pin_start[cell]; p < s.pin_start[cell + 1]; ++p) {
        const Pin& pin = s.pins[p];
        const Outermost* net = s.extremes + 2 * size_t(pin.net);
        double whole[4], others[4], own[4];
        whole_of(net, whole);
        without(net, cell, others);
        on_die(pin, pose, own);
        enlarge(others, own);
        then += times(net[0].weight, length_of(others));
        now += times(net[0].weight, length_of(whole));
    }
    if (!(then + s.least_gain < now)) return;
    s.changes[size_t(index) * batch.stride] = {cell, spot.row, spot.site, !spot.mirrored};
    propose(s, index, 1);
}
