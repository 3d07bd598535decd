#define TILE_SIZE 32
#define TILE_WIDTH TILE_SIZE
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ float Mt[TILE_SIZE][TILE_SIZE];
    __shared__ float Nt[TILE_SIZE][TILE_SIZE];
    int bx = blockIdx.x, by = blockIdx.y, tx = threadIdx.x, ty = threadIdx.y;
    int row = by * TILE_SIZE + ty;
    int col = bx * TILE_SIZE + tx;
    float value = 0;
    for (int ph = 0; ph < Width / TILE_SIZE; ++ph) {
        Mt[ty][tx] = M[row * Width + ph * TILE_SIZE + tx];
        Nt[tx][ty] = N[(bx * TILE_SIZE + ty) * Width + ph * TILE_SIZE + tx];
        __syncthreads();
        for (int k = 0; k < TILE_SIZE; ++k) value += Mt[ty][k] * Nt[k][tx];
        __syncthreads();
    }
    P[row * Width + col] = value;
}
