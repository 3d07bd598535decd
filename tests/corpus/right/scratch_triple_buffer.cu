__device__ float ring[3][64 * TILE_WIDTH * TILE_WIDTH];
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * TILE_WIDTH + ty, col = blockIdx.x * TILE_WIDTH + tx;
    int tiles = Width / TILE_WIDTH, mine = (blockIdx.y * gridDim.x + blockIdx.x) * TILE_WIDTH * TILE_WIDTH;
    int here = mine + ty * TILE_WIDTH + tx;
    float sum = 0;
    for (int p = 0; p < 2 && p < tiles; ++p) ring[p][here] = N[(p * TILE_WIDTH + ty) * Width + col];
    for (int p = 0; p < tiles; ++p) {
        __syncthreads();
        if (p + 2 < tiles) ring[(p + 2) % 3][here] = N[((p + 2) * TILE_WIDTH + ty) * Width + col];
        for (int k = 0; k < TILE_WIDTH; ++k)
            sum += M[row * Width + p * TILE_WIDTH + k] * ring[p % 3][mine + k * TILE_WIDTH + tx];
    }
    P[row * Width + col] = sum;
}
