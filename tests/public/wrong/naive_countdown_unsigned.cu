__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    unsigned row = blockIdx.y * blockDim.y + threadIdx.y;
    unsigned col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < Width && col < Width) {
        float sum = 0;
        for (unsigned k = Width - 1; k >= 0; --k) sum += M[row * Width + k % Width] * N[k % Width * Width + col];
        P[row * Width + col] = sum;
    }
}
