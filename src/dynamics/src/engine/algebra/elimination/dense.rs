//! Factors and products of dense blocks. Blocks of two free bodies have loops of constant length.

/// Number of unknowns of a free body, of which heaps are made: loops of this length are unrolled.
pub(crate) const BODY_DOFS: usize = 6;
/// Absolute value below which a pivot counts as zero.
pub(super) const MIN_PIVOT: f64 = 1e-300;
/// The block of two free bodies.
type FreeBodyBlock = [[f64; BODY_DOFS]; BODY_DOFS];

/// Factorises a square matrix in place, with exchange of rows for the largest pivot. The lower factor has the diagonal
/// one; the upper one has the reciprocals of its diagonal. `pivots` receives the exchanged rows. Returns false if the
/// matrix is singular.
pub(super) fn factorise(matrix: &mut [f64], n: usize, pivots: &mut Vec<usize>) -> bool {
    pivots.clear();
    if let Some(matrix) = free_block_mut(matrix, n) {
        return factorise_free(matrix, pivots);
    }
    for c in 0..n {
        let rest = &mut matrix[c * n..];
        let (mut pivot, mut largest) = (0, rest[c].abs());
        for (r, row) in rest.chunks_exact(n).enumerate() {
            if row[c].abs() > largest {
                (pivot, largest) = (r, row[c].abs());
            }
        }
        if !(largest > MIN_PIVOT) {
            return false;
        }
        pivots.push(c + pivot);
        let (row, below) = rest.split_at_mut(n);
        if let Some(before) = pivot.checked_sub(1) {
            row.swap_with_slice(&mut below[before * n..][..n]);
        }
        row[c] = 1.0 / row[c];
        let (reciprocal, row) = (row[c], &row[c + 1..]);
        for other in below.chunks_exact_mut(n) {
            other[c] *= reciprocal;
            let factor = other[c];
            if factor != 0.0 {
                other[c + 1..].iter_mut().zip(row).for_each(|(x, y)| *x -= factor * y);
            }
        }
    }
    true
}

fn factorise_free(matrix: &mut FreeBodyBlock, pivots: &mut Vec<usize>) -> bool {
    eliminate_column::<0>(matrix, pivots)
        && eliminate_column::<1>(matrix, pivots)
        && eliminate_column::<2>(matrix, pivots)
        && eliminate_column::<3>(matrix, pivots)
        && eliminate_column::<4>(matrix, pivots)
        && eliminate_column::<5>(matrix, pivots)
}

/// Eliminates one column. Its number is a constant, so that the compiler keeps entries written singly apart from those
/// read in pairs.
#[inline(always)]
fn eliminate_column<const C: usize>(matrix: &mut FreeBodyBlock, pivots: &mut Vec<usize>) -> bool {
    let mut pivot = C;
    for r in C + 1..BODY_DOFS {
        if matrix[r][C].abs() > matrix[pivot][C].abs() {
            pivot = r;
        }
    }
    if !(matrix[pivot][C].abs() > MIN_PIVOT) {
        return false;
    }
    pivots.push(pivot);
    matrix.swap(C, pivot);
    let row = matrix[C];
    let reciprocal = 1.0 / row[C];
    matrix[C][C] = reciprocal;
    for other in &mut matrix[C + 1..] {
        let factor = other[C] * reciprocal;
        other[C] = factor;
        (C + 1..BODY_DOFS).for_each(|k| other[k] -= factor * row[k]);
    }
    true
}

/// Solves for one column with a factorised matrix.
pub(super) fn solve_factorised(factors: &[f64], pivots: &[usize], x: &mut [f64]) {
    let n = pivots.len();
    pivots.iter().enumerate().for_each(|(row, &pivot)| x.swap(row, pivot));
    if let (Some(factors), Some(x)) = (free_block(factors, n), x.first_chunk_mut::<BODY_DOFS>()) {
        return solve_free(factors, x);
    }
    for (r, row) in factors.chunks_exact(n).enumerate() {
        x[r] -= dot(&row[..r], x);
    }
    for (r, row) in factors.chunks_exact(n).enumerate().rev() {
        x[r] = (x[r] - dot(&row[r + 1..], &x[r + 1..])) * row[r];
    }
}

fn solve_free(factors: &FreeBodyBlock, x: &mut [f64; BODY_DOFS]) {
    for r in 1..BODY_DOFS {
        x[r] -= dot(&factors[r][..r], &x[..]);
    }
    for r in (0..BODY_DOFS).rev() {
        x[r] = (x[r] - dot(&factors[r][r + 1..], &x[r + 1..])) * factors[r][r];
    }
}

/// Subtracts the product of a block with `[rows, columns]` and the column at `from` from the column at `to`.
pub(super) fn subtract_times(x: &mut [f64], to: usize, block: &[f64], from: usize, [rows, columns]: [usize; 2]) {
    if rows == BODY_DOFS
        && let (Some(block), Some(&by)) = (free_block(block, columns), x[from..].first_chunk::<BODY_DOFS>())
        && let Some(target) = x[to..].first_chunk_mut::<BODY_DOFS>()
    {
        return (0..BODY_DOFS).for_each(|r| target[r] -= dot(&block[r], &by));
    }
    for (r, row) in block.chunks_exact(columns).take(rows).enumerate() {
        x[to + r] -= dot(row, &x[from..]);
    }
}

/// Scalar product of two lists, up to the length of the shorter one.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Solves for the columns of an n by m block with a factorised matrix.
pub(super) fn substitute(factors: &[f64], pivots: &[usize], block: &mut [f64], [n, m]: [usize; 2]) {
    for (row, &pivot) in pivots.iter().enumerate().filter(|(row, pivot)| row != *pivot) {
        (0..m).for_each(|c| block.swap(row * m + c, pivot * m + c));
    }
    if let (BODY_DOFS, Some(block)) = (n, free_block_mut(block, m))
        && let Some(factors) = free_block(factors, n)
    {
        return substitute_free(factors, block);
    }
    for r in 1..n {
        let (above, own) = block.split_at_mut(r * m);
        for k in 0..r {
            let factor = factors[r * n + k];
            own[..m].iter_mut().zip(&above[k * m..][..m]).for_each(|(x, y)| *x -= factor * y);
        }
    }
    for r in (0..n).rev() {
        let (own, below) = block[r * m..].split_at_mut(m);
        for k in r + 1..n {
            let factor = factors[r * n + k];
            own.iter_mut().zip(&below[(k - r - 1) * m..][..m]).for_each(|(x, y)| *x -= factor * y);
        }
        own.iter_mut().for_each(|x| *x *= factors[r * n + r]);
    }
}

fn substitute_free(factors: &FreeBodyBlock, block: &mut FreeBodyBlock) {
    for r in 1..BODY_DOFS {
        let mut row = block[r];
        for k in 0..r {
            (0..BODY_DOFS).for_each(|c| row[c] -= factors[r][k] * block[k][c]);
        }
        block[r] = row;
    }
    for r in (0..BODY_DOFS).rev() {
        let mut row = block[r];
        for k in r + 1..BODY_DOFS {
            (0..BODY_DOFS).for_each(|c| row[c] -= factors[r][k] * block[k][c]);
        }
        block[r] = row.map(|x| x * factors[r][r]);
    }
}

/// Subtracts the product of two blocks from a third: `[rows, inner, columns]`.
pub(super) fn subtract_product(target: &mut [f64], left: &[f64], right: &[f64], [rows, inner, columns]: [usize; 3]) {
    if rows == BODY_DOFS
        && let (Some(left), Some(right)) = (free_block(left, inner), free_block(right, columns))
        && let Some(target) = free_block_mut(target, columns)
    {
        for (target, left) in target.iter_mut().zip(left) {
            let mut row = *target;
            for k in 0..BODY_DOFS {
                (0..BODY_DOFS).for_each(|c| row[c] -= left[k] * right[k][c]);
            }
            *target = row;
        }
        return;
    }
    for (target, left) in target.chunks_exact_mut(columns).zip(left.chunks_exact(inner)).take(rows) {
        for (factor, right) in left.iter().zip(right.chunks_exact(columns)) {
            target.iter_mut().zip(right).for_each(|(x, y)| *x -= factor * y);
        }
    }
}

/// A block as one of two free bodies, if its rows have that length.
fn free_block(block: &[f64], columns: usize) -> Option<&FreeBodyBlock> {
    block.as_chunks().0.first_chunk().filter(|_| columns == BODY_DOFS)
}

fn free_block_mut(block: &mut [f64], columns: usize) -> Option<&mut FreeBodyBlock> {
    block.as_chunks_mut().0.first_chunk_mut().filter(|_| columns == BODY_DOFS)
}
