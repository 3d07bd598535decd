__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ unsigned int words[64];
    unsigned char* flag = (unsigned char*)words;
    int t = threadIdx.y * blockDim.x + threadIdx.x;
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (t < 64) words[t] = 0;
    if (col < Width && row < Width) flag[t] = 1;
    __syncthreads();
    float sum = 0;
    if (flag[t])
        for (int k = 0; k < Width; ++k) sum += M[row * Width + k] * N[k * Width + col];
    if (col < Width && row < Width) P[row * Width + col] = sum;
}
