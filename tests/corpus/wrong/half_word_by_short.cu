__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ unsigned int columns[256];
    int t = threadIdx.y * 16 + threadIdx.x;
    int col = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
    ((unsigned short*)columns)[2 * t] = col;
    __syncthreads();
    unsigned int c = columns[t];
    if (row >= Width || c >= Width) return;
    float sum = 0;
    for (int k = 0; k < Width; ++k) sum += M[row * Width + k] * N[k * Width + c];
    P[row * Width + c] = sum;
}
