constexpr int cdiv(int a, int b) { return (a + b - 1) / b; }
constexpr int UNROLL = cdiv(7, 2);

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= Width || col >= Width) return;
    float sums[UNROLL] = {};
    for (int k = 0; k < Width; ++k) sums[k % UNROLL] += M[row * Width + k] * N[k * Width + col];
    float total = 0;
    for (int u = 0; u < UNROLL; ++u) total += sums[u];
    P[row * Width + col] = total;
}
