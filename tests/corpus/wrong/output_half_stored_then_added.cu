__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= Width || col >= Width) return;
    volatile float* p = &P[row * Width + col];
    ((volatile unsigned short*)p)[0] = 0;
    float sum = *p;
    for (int k = 0; k < Width; ++k) sum += M[row * Width + k] * N[k * Width + col];
    *p = sum;
}
