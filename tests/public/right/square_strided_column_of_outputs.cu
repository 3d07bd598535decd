//!tilelab block=(16,4) grid=(Width/16, Width/16) tile=16
#define BS 16
#define ROWS 4
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ float a[BS][BS], b[BS][BS];
    int x = threadIdx.x, y = threadIdx.y, r0 = blockIdx.y * BS, c = blockIdx.x * BS + x;
    float acc[BS / ROWS] = {0, 0, 0, 0};
    for (int k0 = 0; k0 < Width; k0 += BS) {
        for (int i = y; i < BS; i += ROWS) {
            a[i][x] = M[(r0 + i) * Width + k0 + x];
            b[i][x] = N[(k0 + i) * Width + c];
        }
        __syncthreads();
        for (int k = 0; k < BS; ++k)
#pragma unroll
            for (int j = 0; j < BS / ROWS; ++j) acc[j] += a[y + j * ROWS][k] * b[k][x];
        __syncthreads();
    }
    for (int j = 0; j < BS / ROWS; ++j) P[(r0 + y + j * ROWS) * Width + c] = acc[j];
}
