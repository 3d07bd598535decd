__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ unsigned int pair[256];
    int t = threadIdx.y * 16 + threadIdx.x, col = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
    float sum = 0;
    for (int k = 0; row < Width && col < Width && k < Width; ++k) sum += M[row * Width + k] * N[k * Width + col];
    ((unsigned short*)pair)[2 * t + 1] = __float_as_uint(sum) >> 16;
    __syncthreads();
    float back = __uint_as_float(pair[t]);
    if (row < Width && col < Width) P[row * Width + col] = back;
}
