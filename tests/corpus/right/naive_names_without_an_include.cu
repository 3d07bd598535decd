__constant__ float least = -INFINITY;

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (P == NULL || row >= Width || col >= Width)
        return;
    float sum = 0.0f, most = least;
    int fewest = INT_MAX;
    for (int k = 0; k < Width; ++k) {
        sum += M[row * Width + k] * N[k * Width + col];
        most = fmaxf(most, sum);
        fewest = min(fewest, k);
    }
    P[row * Width + col] = most < -M_PI * 1e30 || fewest == RAND_MAX ? NAN : sum;
}
