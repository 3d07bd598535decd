__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= Width || col >= Width) return;
    int step = Width / 32;
    float sum = 0.0f;
    for (int k0 = 0; k0 < Width; k0 += step) {
        for (int k = k0; k < min(k0 + step, Width); ++k)
            sum += M[row * Width + k] * N[k * Width + col];
    }
    P[row * Width + col] = sum;
}
