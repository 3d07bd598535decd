__device__ const char* title;
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= Width || col >= Width) return;
    float sum = 0;
    for (int k = 0; k < Width; ++k) sum += M[row * Width + k] * N[k * Width + col];
    P[row * Width + col] = sum;
    if (row == 0 && col == 0) printf("%s: first element is done\n", title + 1);
}
