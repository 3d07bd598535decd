// A tiled matrix product for a column-major N: element (k, column) is N[column * Width + k]. Width is a multiple of
// TILE_WIDTH.
//
// With TURNED 0, neighbouring threads load neighbouring columns of N, which are Width elements apart. With TURNED 1,
// they load neighbouring rows of one column, which are neighbours in memory: the corner is turned. Then Nds holds
// columns as rows, and the sum reads Nds[tx][k]. The extra cell of each row keeps those reads free of bank conflicts.

#ifndef TILE_WIDTH
#define TILE_WIDTH 32
#endif
#define TURNED 0

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ float Mds[TILE_WIDTH][TILE_WIDTH];
    __shared__ float Nds[TILE_WIDTH][TILE_WIDTH + 1];

    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int row = blockIdx.y * TILE_WIDTH + ty;
    int first = blockIdx.x * TILE_WIDTH;

    float sum = 0.0f;
    for (int start = 0; start < Width; start += TILE_WIDTH) {
        Mds[ty][tx] = M[row * Width + start + tx];
        Nds[ty][tx] = TURNED ? N[(first + ty) * Width + start + tx] : N[(first + tx) * Width + start + ty];
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k) {
            sum += Mds[ty][k] * (TURNED ? Nds[tx][k] : Nds[k][tx]);
        }
        __syncthreads();
    }
    P[row * Width + first + tx] = sum;
}
