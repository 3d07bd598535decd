__device__ int launches;
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    int first = launches % Width;
    __syncthreads();
    if (row < Width && col < Width) {
        float sum = 0;
        for (int k = 0; k < Width; ++k) {
            int at = (k + first) % Width;
            sum += M[row * Width + at] * N[at * Width + col];
        }
        P[row * Width + col] = sum;
    }
    __threadfence();
    if (row == 0 && col == 0) launches = first + 1;
}
