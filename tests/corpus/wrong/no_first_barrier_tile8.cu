#define TILE_WIDTH 8

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float a[TILE_WIDTH][TILE_WIDTH];
    __shared__ float b[TILE_WIDTH][TILE_WIDTH];
    int row = blockIdx.y * TILE_WIDTH + threadIdx.y;
    int col = blockIdx.x * TILE_WIDTH + threadIdx.x;
    float acc = 0;
    for (int t = 0; t < Width / TILE_WIDTH; t++) {
        a[threadIdx.y][threadIdx.x] = M[row * Width + (t * TILE_WIDTH + threadIdx.x)];
        b[threadIdx.y][threadIdx.x] = N[(t * TILE_WIDTH + threadIdx.y) * Width + col];
        // the tile is in place now
        for (int k = 0; k < TILE_WIDTH; k++) {
            acc += a[threadIdx.y][k]
                 * b[k][threadIdx.x];
        }
        __syncthreads();
    }
    P[row * Width + col] = acc;
}
