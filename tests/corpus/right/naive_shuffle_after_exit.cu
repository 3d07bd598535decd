//!tilelab block=(32,4) grid=(ceil(Width/32), ceil(Width/4))
__global__ void MatrixMulKernel(const float* M, const float* N, float* P, int Width) {
    int lane = threadIdx.x, row = blockIdx.y * 4 + threadIdx.y, col = blockIdx.x * 32 + lane;
    if (row >= Width || col >= Width) return;
    float acc = 0;
    for (int k = 0; k < Width; ++k) {
        float m = 0;
        if (lane == 0) m = M[row * Width + k];
        m = __shfl_sync(0xffffffff, m, 0);
        acc += m * N[k * Width + col];
    }
    P[row * Width + col] = acc;
}
