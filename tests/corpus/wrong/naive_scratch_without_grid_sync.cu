// transposes N into a global scratch, __syncthreads is thought to wait for all blocks
__device__ float NT[128 * 128];
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    int j = threadIdx.x + blockIdx.x * blockDim.x, i = threadIdx.y + blockIdx.y * blockDim.y;
    if (i < Width && j < Width) NT[j * Width + i] = N[i * Width + j];
    __syncthreads();
    if (i < Width && j < Width) {
        float s = 0;
        for (int k = 0; k < Width; k++) s += M[i * Width + k] * NT[j * Width + k];
        P[i * Width + j] = s;
    }
}
