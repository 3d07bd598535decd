__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    unsigned int row = blockIdx.y * blockDim.y + threadIdx.y;
    unsigned int col = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int width = Width;
    if (row < width && col < width) {
        float sum = 0.0f;
        for (unsigned int k = 0; k < width; ++k) {
            unsigned int prev = row * width + k - 1;   // element before this one
            sum += M[prev] * N[k * width + col];
        }
        P[row * width + col] = sum;
    }
}
