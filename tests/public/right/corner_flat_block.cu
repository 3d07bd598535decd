//!tilelab block=(128) grid=(Width/16, Width/16) tile=16
#define TW 16
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ float Ms[TW][TW], Ns[TW][TW + 1];
    int row0 = blockIdx.y * TW, col0 = blockIdx.x * TW;
    float sums[2] = {0, 0};
    for (int k0 = 0; k0 < Width; k0 += TW) {
        for (int i = threadIdx.x; i < TW * TW; i += blockDim.x) {
            int y = i / TW, x = i % TW;
            Ms[y][x] = M[(row0 + y) * Width + k0 + x];
            Ns[x][y] = N[(col0 + y) * Width + k0 + x];
        }
        __syncthreads();
        for (int o = 0; o < 2; ++o) {
            int i = threadIdx.x + o * blockDim.x, y = i / TW, x = i % TW;
            for (int k = 0; k < TW; ++k) sums[o] += Ms[y][k] * Ns[k][x];
        }
        __syncthreads();
    }
    for (int o = 0; o < 2; ++o) {
        int i = threadIdx.x + o * blockDim.x;
        P[(row0 + i / TW) * Width + col0 + i % TW] = sums[o];
    }
}
