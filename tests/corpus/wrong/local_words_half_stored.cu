__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    unsigned int steps[8];
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    for (int i = 0; i < 8; ++i) ((volatile unsigned char*)&steps[i])[0] = 1;
    if (row >= Width || col >= Width) return;
    float sum = 0;
    for (int k = 0; k < Width; ++k)
        if (((volatile unsigned int*)steps)[k % 8] != 0) sum += M[row * Width + k] * N[k * Width + col];
    P[row * Width + col] = sum;
}
