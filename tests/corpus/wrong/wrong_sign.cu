__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= Width || y >= Width) return;
    float s = 0.0f;
    for (int k = 0; k < Width; ++k) s -= M[y * Width + k] * N[k * Width + x];
    P[y * Width + x] = s;
}
