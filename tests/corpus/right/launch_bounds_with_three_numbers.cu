// The third number is the largest cluster, and the launch has none.

__global__ void __launch_bounds__(256, 2, 4) MatrixMulKernel(float* M, float* N, float* P, int Width) {
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= Width || col >= Width) return;
    float sum = 0.0f;
    for (int k = 0; k < Width; ++k)
        sum += M[row * Width + k] * N[k * Width + col];
    P[row * Width + col] = sum;
}
