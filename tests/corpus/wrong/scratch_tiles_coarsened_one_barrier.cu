#define TILE_WIDTH 8
#define COARSE_FACTOR 4
__device__ float Mds[256][TILE_WIDTH][TILE_WIDTH];
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int tx = threadIdx.x, ty = threadIdx.y, b = blockIdx.y * gridDim.x + blockIdx.x;
    int row = blockIdx.y * TILE_WIDTH + ty, col = blockIdx.x * TILE_WIDTH * COARSE_FACTOR + tx;
    float v[COARSE_FACTOR] = {};
    for (int ph = 0; ph < Width / TILE_WIDTH; ++ph) {
        Mds[b][ty][tx] = M[row * Width + ph * TILE_WIDTH + tx];
        __syncthreads();
        for (int c = 0; c < COARSE_FACTOR; ++c)
            for (int k = 0; k < TILE_WIDTH; ++k)
                v[c] += Mds[b][ty][k] * N[(ph * TILE_WIDTH + k) * Width + col + c * TILE_WIDTH];
    }
    for (int c = 0; c < COARSE_FACTOR; ++c) P[row * Width + col + c * TILE_WIDTH] = v[c];
}
