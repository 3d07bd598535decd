#define TILE_WIDTH 16
template <bool GUARDED>
__device__ float fetch(const float* m, int r, int c, int n) {
    if constexpr (GUARDED) {
        return r < n && c < n ? m[r * n + c] : 0.0f;
    } else {
        return m[r * n + c];
    }
}
template <bool GUARDED>
__device__ void product(const float* A, const float* B, float* C, int n) {
    __shared__ float a[TILE_WIDTH][TILE_WIDTH], b[TILE_WIDTH][TILE_WIDTH];
    int r = blockIdx.y * TILE_WIDTH + threadIdx.y, c = blockIdx.x * TILE_WIDTH + threadIdx.x;
    float s = 0;
    for (int k0 = 0; k0 < n; k0 += TILE_WIDTH) {
        a[threadIdx.y][threadIdx.x] = fetch<GUARDED>(A, r, k0 + threadIdx.x, n);
        b[threadIdx.y][threadIdx.x] = fetch<GUARDED>(B, k0 + threadIdx.y, c, n);
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k) s += a[threadIdx.y][k] * b[k][threadIdx.x];
        __syncthreads();
    }
    if (!GUARDED || (r < n && c < n)) C[r * n + c] = s;
}
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    if (Width % TILE_WIDTH == 0) product<false>(M, N, P, Width);
    else product<true>(M, N, P, Width);
}
