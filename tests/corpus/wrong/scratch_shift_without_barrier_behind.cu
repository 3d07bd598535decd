__device__ float B[64][TILE_WIDTH * TILE_WIDTH];
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int tx = threadIdx.x, ty = threadIdx.y;
    float* mine = B[blockIdx.y * gridDim.x + blockIdx.x];
    int row = blockIdx.y * TILE_WIDTH + ty, col = blockIdx.x * TILE_WIDTH + tx;
    int here = ty * TILE_WIDTH + tx, below = (ty + 1) % TILE_WIDTH * TILE_WIDTH + tx;
    float sum = 0;
    for (int k0 = 0; k0 < Width; k0 += TILE_WIDTH) {
        float cell = N[(k0 + ty) * Width + col];
        for (int step = 0; step < TILE_WIDTH; ++step) {
            sum += cell * M[row * Width + k0 + (ty + step) % TILE_WIDTH];
            mine[here] = cell;
            cell = mine[below];
            __syncthreads();
        }
    }
    P[row * Width + col] = sum;
}
