__device__ double wide[128][128];
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < Width && y < Width) {
        wide[y][x] = M[y * Width + x];
    }
    __threadfence();
    __syncthreads();
    if (x < Width && y < Width) {
        double dot = 0.0;
        for (int k = 0; k < Width; k++)
            dot += wide[y][k] * N[k * Width + x];
        P[y * Width + x] = (float)dot;
    }
}
