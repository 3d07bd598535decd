__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < Width && col < Width) {
        float sum = 0.0f;
        for (int k = 0; k < Width; ++k) {
            int right = k * Width + col + 1;
            sum += M[row * Width + k] * (right < Width * Width ? N[right] : 0.0f);
        }
        P[row * Width + col] = sum;
    }
}
