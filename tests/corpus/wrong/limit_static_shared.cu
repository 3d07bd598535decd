__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float rows[16][512];
    __shared__ float cols[16][512];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * 16 + ty, col = blockIdx.x * 16 + tx;
    for (int k = tx; k < 512; k += 16) {
        rows[ty][k] = (row < Width && k < Width) ? M[row * Width + k] : 0.0f;
        int c = blockIdx.x * 16 + ty;
        cols[ty][k] = (c < Width && k < Width) ? N[k * Width + c] : 0.0f;
    }
    __syncthreads();
    float sum = 0.0f;
    for (int k = 0; k < Width; ++k) sum += rows[ty][k] * cols[tx][k];
    if (row < Width && col < Width) P[row * Width + col] = sum;
}
