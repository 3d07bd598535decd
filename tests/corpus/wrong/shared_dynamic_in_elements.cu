//!tilelab shared=2*TILE_WIDTH*TILE_WIDTH
extern __shared__ float tiles[];

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    float* mTile = &tiles[0];
    float* nTile = &tiles[TILE_WIDTH * TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    int r = blockIdx.y * TILE_WIDTH + ty;
    int c = blockIdx.x * TILE_WIDTH + tx;
    float v = 0;
    for (int t = 0; t < Width / TILE_WIDTH; t++) {
        mTile[ty * TILE_WIDTH + tx] = M[r * Width + t * TILE_WIDTH + tx];
        nTile[ty * TILE_WIDTH + tx] = N[(t * TILE_WIDTH + ty) * Width + c];
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; k++)
            v += mTile[ty * TILE_WIDTH + k] * nTile[k * TILE_WIDTH + tx];
        __syncthreads();
    }
    P[r * Width + c] = v;
}
