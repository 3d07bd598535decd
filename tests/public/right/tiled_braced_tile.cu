constexpr int TILE_WIDTH{8};
__global__ void MatrixMulKernel(const float* m, const float* n, float* p, int w) {
    __shared__ float a[TILE_WIDTH][TILE_WIDTH];
    __shared__ float b[TILE_WIDTH][TILE_WIDTH];
    int r = blockIdx.y * TILE_WIDTH + threadIdx.y;
    int c = blockIdx.x * TILE_WIDTH + threadIdx.x;
    float s{0.0f};
    for (int t{0}; t < w; t += TILE_WIDTH) {
        a[threadIdx.y][threadIdx.x] = r < w && t + threadIdx.x < w ? m[r * w + t + threadIdx.x] : 0.0f;
        b[threadIdx.y][threadIdx.x] = c < w && t + threadIdx.y < w ? n[(t + threadIdx.y) * w + c] : 0.0f;
        __syncthreads();
        for (int k{0}; k < TILE_WIDTH; ++k) s += a[threadIdx.y][k] * b[k][threadIdx.x];
        __syncthreads();
    }
    if (r < w && c < w) p[r * w + c] = s;
}
