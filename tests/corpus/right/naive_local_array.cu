__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= Width || col >= Width) return;
    float part[5];
    for (int i = 0; i < 5; ++i) part[i] = 0.0f;
    for (int k = 0; k < Width; ++k)
        part[(k + row) % 5] += M[row * Width + k] * N[k * Width + col];
    float sum = 0;
    for (int i = 0; i < 5; ++i) sum += part[i];
    P[row * Width + col] = sum;
}
