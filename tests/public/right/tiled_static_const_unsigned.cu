static const unsigned TILE_WIDTH = 32;
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ float Mt[TILE_WIDTH][TILE_WIDTH];
    __shared__ float Nt[TILE_WIDTH][TILE_WIDTH];
    const unsigned w = Width;
    const unsigned row = blockIdx.y * TILE_WIDTH + threadIdx.y;
    const unsigned col = blockIdx.x * TILE_WIDTH + threadIdx.x;
    float sum = 0;
    for (unsigned t = 0; t < (w + TILE_WIDTH - 1) / TILE_WIDTH; ++t) {
        const unsigned mc = t * TILE_WIDTH + threadIdx.x;
        const unsigned nr = t * TILE_WIDTH + threadIdx.y;
        Mt[threadIdx.y][threadIdx.x] = (row < w && mc < w) ? M[row * w + mc] : 0.0f;
        Nt[threadIdx.y][threadIdx.x] = (nr < w && col < w) ? N[nr * w + col] : 0.0f;
        __syncthreads();
        for (unsigned k = 0; k < TILE_WIDTH; ++k) sum += Mt[threadIdx.y][k] * Nt[k][threadIdx.x];
        __syncthreads();
    }
    if (row < w && col < w) P[row * w + col] = sum;
}
