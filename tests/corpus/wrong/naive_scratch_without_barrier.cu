// scratch per block, but no barrier between write and read (global RAW inside a block)
__device__ float rowbuf[64][16][128];
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    int j = threadIdx.x + blockIdx.x * blockDim.x, i = threadIdx.y + blockIdx.y * blockDim.y;
    float (*b)[128] = rowbuf[blockIdx.y * gridDim.x + blockIdx.x];
    if (i < Width) for (int k = threadIdx.x; k < Width; k += 16) b[threadIdx.y][k] = M[i * Width + k];
    if (i < Width && j < Width) {
        float s = 0;
        for (int k = 0; k < Width; k++) s += b[threadIdx.y][k] * N[k * Width + j];
        P[i * Width + j] = s;
    }
}
