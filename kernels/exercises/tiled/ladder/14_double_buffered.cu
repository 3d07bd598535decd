// Idea: never wait. While the block multiplies one pair of tiles, the elements of the next pair are already on their way
// from global memory into registers; they go into a second pair of tiles, so one barrier a phase is enough.
//
// Over the rung below: there, every phase began with a wait for global memory and had two barriers; with the 128
// registers that a thread needs, only 16 warps fit on an SM, too few to hide that. Here the independent work is in the
// thread itself. Threads of a warp also stand closer together, 4 x 8, in an order in which neighbours want the same
// fragments: shared memory then serves half a warp in one pass. A padded row keeps the transposed stores of M free of
// bank conflicts, and the two buffers are two phases of one unrolled loop, so that their addresses cost nothing.

//!tilelab block=(THREADS) grid=(ceil(Width/COLS), ceil(Width/ROWS))
#define ROWS 128    // of P a block
#define COLS 128
#define DEPTH 8     // of a tile, along a row of M and a column of N
#define THREADS 256 // 8 warps, 4 x 2 of them
#define WARPS_ACROSS 2
#define M_FOURS 2   // a thread makes M_FOURS * 4 rows by N_FOURS * 4 columns of P
#define N_FOURS 2

// M's tile lies transposed, so that a thread finds its rows side by side; four more cells spread its stores over the banks.
typedef float TileM[DEPTH][ROWS + 4];
typedef float TileN[DEPTH][COLS];

// Four elements of a row. INSIDE: there is no edge, so nothing has to be asked.
template <bool INSIDE>
__device__ __forceinline__ float4 load4(const float* matrix, int row, int col, int Width) {
    const float* from = matrix + row * Width + col;
    if (INSIDE || (Width % 4 == 0 && row < Width && col < Width)) {
        return *reinterpret_cast<const float4*>(from);
    }
    float4 four = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    if (row < Width) {
        if (col < Width) four.x = from[0];
        if (col + 1 < Width) four.y = from[1];
        if (col + 2 < Width) four.z = from[2];
        if (col + 3 < Width) four.w = from[3];
    }
    return four;
}

template <bool INSIDE>
__device__ __forceinline__ void store4(float* matrix, int row, int col, int Width, const float* four) {
    float* to = matrix + row * Width + col;
    if (INSIDE || (Width % 4 == 0 && row < Width && col < Width)) {
        *reinterpret_cast<float4*>(to) = make_float4(four[0], four[1], four[2], four[3]);
    } else if (row < Width) {
        #pragma unroll
        for (int i = 0; i < 4; ++i) {
            if (col + i < Width) to[i] = four[i];
        }
    }
}

// A thread's part of one pair of tiles: four elements of M, which go into a column of its tile, and four of N.
__device__ __forceinline__ void put(TileM& Mds, TileN& Nds, float4 m, float4 n, int t) {
    int row = t / 2, k = t % 2 * 4;
    Mds[k][row] = m.x;
    Mds[k + 1][row] = m.y;
    Mds[k + 2][row] = m.z;
    Mds[k + 3][row] = m.w;
    *reinterpret_cast<float4*>(&Nds[t / 32][t % 32 * 4]) = n;
}

// Adds the products of one pair of tiles. A thread's fours are ROWS/M_FOURS rows and COLS/N_FOURS columns apart.
__device__ __forceinline__ void multiply(
    float (&sums)[M_FOURS * 4][N_FOURS * 4], const TileM& Mds, const TileN& Nds, int row, int col) {
    #pragma unroll
    for (int k = 0; k < DEPTH; ++k) {
        float m[M_FOURS * 4], n[N_FOURS * 4];
        #pragma unroll
        for (int i = 0; i < M_FOURS; ++i) {
            *reinterpret_cast<float4*>(m + 4 * i) =
                *reinterpret_cast<const float4*>(&Mds[k][row + i * (ROWS / M_FOURS)]);
        }
        #pragma unroll
        for (int j = 0; j < N_FOURS; ++j) {
            *reinterpret_cast<float4*>(n + 4 * j) =
                *reinterpret_cast<const float4*>(&Nds[k][col + j * (COLS / N_FOURS)]);
        }
        #pragma unroll
        for (int i = 0; i < M_FOURS * 4; ++i) {
            #pragma unroll
            for (int j = 0; j < N_FOURS * 4; ++j) {
                sums[i][j] += m[i] * n[j];
            }
        }
    }
}

template <bool INSIDE>
__device__ __forceinline__ void makeTile(
    const float* M, const float* N, float* P, int Width, TileM (&Mds)[2], TileN (&Nds)[2]) {
    // A warp is 4 threads high and 8 wide. Neighbours in pairs share a row or a column, and so a fragment.
    int t = threadIdx.x, warp = t / 32, lane = t % 32;
    int row = (warp / WARPS_ACROSS * 4 + lane / 16 * 2 + lane / 2 % 2) * 4;
    int col = (warp % WARPS_ACROSS * 8 + lane / 4 % 4 * 2 + lane % 2) * 4;

    float sums[M_FOURS * 4][N_FOURS * 4] = {};
    int mRow = blockIdx.y * ROWS + t / 2, mCol = t % 2 * 4;
    int nRow = t / 32, nCol = blockIdx.x * COLS + t % 32 * 4;
    float4 m = load4<INSIDE>(M, mRow, mCol, Width);
    float4 n = load4<INSIDE>(N, nRow, nCol, Width);
    put(Mds[0], Nds[0], m, n, t);
    __syncthreads();
    // Two phases at a time; beyond the edge, the second one adds zeros.
    for (int k0 = 0; k0 < Width; k0 += 2 * DEPTH) {
        #pragma unroll
        for (int now = 0; now < 2; ++now) {
            bool more = now == 0 || k0 + 2 * DEPTH < Width;
            if (more) {
                int next = k0 + (now + 1) * DEPTH;
                m = load4<INSIDE>(M, mRow, next + mCol, Width);
                n = load4<INSIDE>(N, next + nRow, nCol, Width);
            }
            multiply(sums, Mds[now], Nds[now], row, col);
            if (more) {
                // Everyone left these tiles before the last barrier.
                put(Mds[1 - now], Nds[1 - now], m, n, t);
                __syncthreads();
            }
        }
    }

    #pragma unroll
    for (int i = 0; i < M_FOURS * 4; ++i) {
        #pragma unroll
        for (int j = 0; j < N_FOURS; ++j) {
            store4<INSIDE>(P, blockIdx.y * ROWS + row + i / 4 * (ROWS / M_FOURS) + i % 4,
                           blockIdx.x * COLS + col + j * (COLS / N_FOURS), Width, &sums[i][4 * j]);
        }
    }
}

// Two blocks on an SM, so at most 128 registers a thread.
__global__ void __launch_bounds__(THREADS, 2) MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ __align__(16) TileM Mds[2];
    __shared__ __align__(16) TileN Nds[2];
    if (Width % ROWS == 0 && Width % COLS == 0) {
        makeTile<true>(M, N, P, Width, Mds, Nds);
    } else {
        makeTile<false>(M, N, P, Width, Mds, Nds);
    }
}
