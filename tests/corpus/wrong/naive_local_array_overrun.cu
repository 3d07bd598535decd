__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= Width || col >= Width) return;
    float part[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    for (int k = 0; k < Width; ++k)
        part[k % 5] += M[row * Width + k] * N[k * Width + col];
    P[row * Width + col] = part[0] + part[1] + part[2] + part[3];
}
