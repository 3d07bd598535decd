constexpr unsigned TILE_WIDTH = 16;
constexpr unsigned COARSE_FACTOR = 2;
__global__ void MatrixMulKernel(float* A, float* B, float* C, unsigned int N)
{
    __shared__ float A_s[TILE_WIDTH][TILE_WIDTH];
    __shared__ float B_s[TILE_WIDTH][TILE_WIDTH];
    const unsigned int row = blockIdx.y*TILE_WIDTH + threadIdx.y;
    const unsigned int colStart = blockIdx.x*TILE_WIDTH*COARSE_FACTOR + threadIdx.x;
    float sum[COARSE_FACTOR];
    for(unsigned int c = 0; c < COARSE_FACTOR; ++c) { sum[c] = 0.0f; }
    for(unsigned int tile = 0; tile < N/TILE_WIDTH; ++tile) {
        A_s[threadIdx.y][threadIdx.x] = A[row*N + tile*TILE_WIDTH + threadIdx.x];
        for(unsigned int c = 0; c < COARSE_FACTOR; ++c) {
            const unsigned int col = colStart + c*TILE_WIDTH;
            B_s[threadIdx.y][threadIdx.x] = B[(tile*TILE_WIDTH + threadIdx.y)*N + col];
            __syncthreads();
            for(unsigned int i = 0; i < TILE_WIDTH; ++i) { sum[c] += A_s[threadIdx.y][i]*B_s[i][threadIdx.x]; }
            __syncthreads();
        }
    }
    for(unsigned int c = 0; c < COARSE_FACTOR; ++c) { C[row*N + colStart + c*TILE_WIDTH] = sum[c]; }
}
