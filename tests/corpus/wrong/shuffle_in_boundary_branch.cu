//!tilelab block=(32,4) grid=(ceil(Width/32), ceil(Width/4))
__global__ void MatrixMulKernel(const float* M, const float* N, float* P, int Width) {
    int lane = threadIdx.x, row = blockIdx.y * 4 + threadIdx.y, col = blockIdx.x * 32 + lane;
    float acc = 0;
    if (row < Width && col < Width) {
        for (int k0 = 0; k0 < Width; k0 += 32) {
            float m = (k0 + lane < Width) ? M[row * Width + k0 + lane] : 0.f;
            for (int k = 0; k < 32 && k0 + k < Width; ++k)
                acc += __shfl_sync(~0u, m, k) * N[(k0 + k) * Width + col];
        }
    }
    __syncthreads();
    if (row < Width && col < Width) P[row * Width + col] = acc;
}
