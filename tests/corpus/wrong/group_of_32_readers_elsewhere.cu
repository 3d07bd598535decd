#define TILE_WIDTH 8
#define COARSE_FACTOR 4
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float Nds[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE_WIDTH + ty, first = blockIdx.x * TILE_WIDTH * COARSE_FACTOR + tx;
    for (int c = 0; c < COARSE_FACTOR; ++c) {
        float v = 0;
        for (int ph = 0; ph < Width; ph += TILE_WIDTH) {
            Nds[ty][tx] = N[(ph + ty) * Width + first + c * TILE_WIDTH];
            __syncwarp();
            for (int k = 0; k < TILE_WIDTH; ++k) v += M[row * Width + ph + k] * Nds[k][tx];
            __syncthreads();
        }
        P[row * Width + first + c * TILE_WIDTH] = v;
    }
}
